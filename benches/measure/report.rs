//! The report: a table for people, line by line as it is measured, and JSON for machines.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::machine::Machine;
use super::{Row, Scale};

#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(skip)]
    pub scale: Scale,
    machine: Machine,
    rows: Vec<Row>,
    /// What could not be measured here, and why.
    skipped: Vec<String>,
    #[serde(skip)]
    group: &'static str,
}

impl Report {
    pub fn new(scale: Scale) -> Self {
        let machine = Machine::here();
        println!("{machine}");
        Self {
            scale,
            machine,
            rows: Vec::new(),
            skipped: Vec::new(),
            group: "",
        }
    }

    /// What comes now is of this group.
    pub fn begin(&mut self, group: &'static str) {
        self.group = group;
        let [plain, yard, ratio, spread, target] =
            ["plain", "yard", "ratio", "half of the rounds", "target"];
        println!("\n{group:<60} {plain:>12} {yard:>12} {ratio:>7}  {spread:<18} {target}");
    }

    pub fn add(&mut self, mut row: Row) {
        row.group = self.group;
        println!("{}", line(&row));
        self.rows.push(row);
    }

    pub fn skip(&mut self, what: impl Into<String>) {
        let what = what.into();
        println!("{what}");
        self.skipped.push(what);
    }

    /// How many targets were met, and which were not.
    pub fn conclude(&self) {
        let aimed = self.rows.iter().filter(|row| row.met.is_some()).count();
        let missed: Vec<_> = self
            .rows
            .iter()
            .filter(|row| row.met == Some(false))
            .collect();
        println!("\n{} of {aimed} targets met", aimed - missed.len());
        for row in missed {
            println!("not met: {}: {}", row.group, line(row));
        }
    }

    /// Writes the JSON where BENCH_JSON says, or below the target directory, and beside it the table as
    /// docs/PERFORMANCE.md has it.
    pub fn write(&self) {
        let usual = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
        let path = match std::env::var_os("BENCH_JSON") {
            Some(path) => PathBuf::from(path),
            None => usual.join("report.json"),
        };
        let text = serde_json::to_string_pretty(self).unwrap();
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).unwrap();
        }
        std::fs::write(&path, text + "\n").unwrap();
        std::fs::write(path.with_extension("md"), self.markdown()).unwrap();
        println!("{}", path.display());
    }

    fn markdown(&self) -> String {
        let mut text = format!("{}\n", self.machine);
        let mut group = "";
        for row in &self.rows {
            if group != row.group {
                group = row.group;
                let head = "plain | yard | ratio | half of the rounds | target";
                text.push_str(&format!("\n| {group} | {head} |\n"));
                text.push_str("| --- | --- | --- | --- | --- | --- |\n");
            }
            let cells = cells(row).map(|cell| cell.replace('|', "\\|"));
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        for what in &self.skipped {
            text.push_str(&format!("\nLeft out: {what}\n"));
        }
        text
    }
}

fn line(row: &Row) -> String {
    let [name, plain, yard, ratio, spread, aim] = cells(row);
    let text = format!("{name:<60} {plain:>12} {yard:>12} {ratio:>7}  {spread:<18} {aim}");
    text.trim_end().to_owned()
}

/// What a row says, as people read it.
fn cells(row: &Row) -> [String; 6] {
    let name = match &row.against {
        Some(against) => format!("{} / {against}", row.name),
        None => row.name.clone(),
    };
    let plain = row.plain.map(|plain| row.unit.show(plain.median));
    let ratio = row.ratio.map(|ratio| format!("{:.3}", ratio.median));
    // Between the quartiles of the ratio, or where there is none, of the value.
    let spread = match row.ratio {
        Some(ratio) => format!("{:.3}–{:.3}", ratio.lower_quartile, ratio.upper_quartile),
        None => format!(
            "{}–{}",
            row.unit.show(row.yard.lower_quartile),
            row.unit.show(row.yard.upper_quartile)
        ),
    };
    let verdict = match row.met {
        Some(true) => "met",
        Some(false) => "not met",
        None => "",
    };
    let aim = format!("{} {verdict}", row.aim());
    [
        name,
        plain.unwrap_or_default(),
        row.unit.show(row.yard.median),
        ratio.unwrap_or_default(),
        spread,
        aim.trim().to_owned(),
    ]
}
