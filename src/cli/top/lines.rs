//! The lines of the screen of `top`: how busy the machine is, and the runs.

use branchyard::app::Load;
use branchyard_model::RunRecord;
use jiff::Timestamp;

use crate::cli::client::command_line;
use crate::cli::render::{Cell, Cut, Listing, cut, human_duration, human_size, letters, printable};
use crate::cli::runs::{state_in_words, tone, why};

const TITLES: &str = "STATE, REPO, BRANCH, COMMAND, WHO, TIME, FIRST ERROR; WHO, REPO, COMMAND";

/// The titles, and a line for each run.
pub(super) fn table(runs: &[&RunRecord], width: u16, color: bool, now: Timestamp) -> Vec<String> {
    let listing = Listing::of(TITLES, runs, |run| {
        let age = now.duration_since(run.created_at).as_millis();
        let age = u64::try_from(age).ok().filter(|_| !run.state.is_ended());
        let took = run.duration_ms.or(age).map(human_duration);
        vec![
            Cell::whole(run.state.as_str())
                .shown_as(state_in_words(run))
                .tone(tone(run.state)),
            Cell::text(&run.spec.repo),
            Cell::branch(&run.spec.branch),
            Cell::text(command_line(&run.spec.argv)),
            Cell::text(&run.spec.principal),
            Cell::whole(took.unwrap_or_default()),
            Cell::sentence(why(run)),
        ]
    });
    let table = listing.table(Some(width.saturating_sub(2)), color);
    table.lines().map(str::to_owned).collect()
}

/// `make test on app main: src/a.c:3:5: error: …`
pub(super) fn in_full(run: &RunRecord) -> String {
    let spec = &run.spec;
    let why = why(run).map_or_else(String::new, |why| format!(": {why}"));
    let command = command_line(&spec.argv);
    printable(&format!("{command} on {} {}{why}", spec.repo, spec.branch))
}

/// How busy the machine is: as much of it as fits.
pub(super) fn head(machine: &Load, columns: usize) -> String {
    let [one, five, fifteen] = machine.load;
    let parts = [
        format!(
            "{} running, {} waiting",
            machine.runs.queue.running, machine.runs.queue.waiting
        ),
        format!(
            "load {one:.2} {five:.2} {fifteen:.2} on {} cores",
            machine.cores
        ),
        free(
            "memory",
            machine.memory.available,
            Some(machine.memory.total),
        ),
        free("disk", machine.disk.free, machine.disk.total),
    ];
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { "" } else { "    " };
        if letters(&line) + gap.len() + letters(&part) <= columns {
            line.push_str(gap);
            line.push_str(&part);
        }
    }
    cut(&line, columns, Cut::End)
}

fn free(what: &str, free: Option<u64>, total: Option<u64>) -> String {
    match (free, total) {
        (Some(free), Some(total)) => {
            format!("{what} {} free of {}", human_size(free), human_size(total))
        }
        _ => format!("{what} unknown"),
    }
}
