//! Reading the tests of a run: from its report files, or from its output.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use jiff::Timestamp;

use branchyard_config::FileGlobs;
use branchyard_journal::Output;
use branchyard_model::{TestReport, TestSpec, Warning};
use branchyard_process::Redactor;
use branchyard_reports::{LogReader, Merged, junit};
use branchyard_workspace::{Workspace, files};

/// So many reports that cannot be read are named.
const MOST_WARNINGS: usize = 5;

/// The tests of reports, as they are read.
#[derive(Default)]
pub struct Reading {
    merged: Merged,
    has_any: bool,
    warnings: Vec<Warning>,
}

impl Reading {
    /// Adds the tests of each report that the run wrote. One that is none is told of and left out.
    pub(super) fn read_reports(
        &mut self,
        workspace: &Workspace,
        test: &TestSpec,
        since: Timestamp,
        mut redactor: Option<Redactor>,
    ) -> io::Result<()> {
        let globs = globs(workspace, test).map_err(io::Error::other)?;
        let reports = files::reports_since(workspace, &globs, since).map_err(io::Error::other)?;
        for (path, file) in reports {
            let file = file.map_err(|error| error.to_string());
            self.add(&path, file, redactor.as_mut());
        }
        Ok(())
    }

    /// Adds the tests of a report. One that is none is told of and left out.
    pub fn add(
        &mut self,
        path: &Path,
        file: Result<File, String>,
        redactor: Option<&mut Redactor>,
    ) {
        let read =
            file.and_then(|file| junit(BufReader::new(file)).map_err(|error| error.to_string()));
        match read {
            Ok(mut report) => {
                if let Some(redactor) = redactor {
                    redact(&mut report, redactor);
                }
                self.merged.add(report);
                self.has_any = true;
            }
            Err(why) if self.warnings.len() < MOST_WARNINGS => {
                let message = format!("{} is not read: {why}", path.display());
                self.warnings
                    .push(Warning::new("report_unreadable", message));
            }
            Err(_) => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_any
    }

    /// Adds the tests that the output names; the output is redacted already.
    pub(super) fn read_output(&mut self, mut output: Output) -> io::Result<()> {
        let mut reader = LogReader::default();
        output.each_line(|_, line| reader.line(line))?;
        if let Some(tests) = reader.finish() {
            self.merged.add(tests);
            self.has_any = true;
        }
        Ok(())
    }

    pub fn finish(mut self) -> (TestReport, Vec<Warning>) {
        if !self.has_any {
            let message = "no test was reported: neither a report file that `reports` names nor a known format in the output";
            self.warnings.push(Warning::new("no_tests_found", message));
        }
        (self.merged.finish(), self.warnings)
    }
}

/// Those of the caller, of the repo, or the usual ones.
fn globs(workspace: &Workspace, test: &TestSpec) -> Result<FileGlobs, String> {
    if !test.reports.is_empty() {
        return FileGlobs::parse(test.reports.iter().map(String::as_str));
    }
    let own = &workspace.repo().config().reports;
    match own {
        Some(own) => FileGlobs::parse(own.patterns().iter().map(String::as_str)),
        None => Ok(FileGlobs::usual_reports()),
    }
}

fn redact(report: &mut TestReport, redactor: &mut Redactor) {
    for test in &mut report.tests {
        let texts = [Some(&mut test.suite), Some(&mut test.name)];
        let more = [test.message.as_mut(), test.file.as_mut()];
        for text in texts.into_iter().chain(more).flatten() {
            let shown = redactor.whole(text.as_bytes());
            if shown != text.as_bytes() {
                *text = String::from_utf8_lossy(&shown).into_owned();
            }
        }
    }
}
