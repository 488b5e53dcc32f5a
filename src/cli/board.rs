//! What the runs of a group look like. On a terminal: a line for each branch that moves, until it
//! gives way to one that says how it ended. Elsewhere: a line with tabs for each run that ended. With
//! `--output` it is the output that was asked for, each line after the name of its branch, and the rest
//! goes to stderr.

mod words;

use std::io;

use super::exit::{self, Failure};
use super::outlet::Outlet;
use super::render::{Console, human_duration, width_of};
use super::rows::Rows;
use super::signals::Clear;
use super::stream::{Channel, Ending, Event};
use super::watch::Viewer;
use branchyard_model::{EndState, GroupRecord, GroupState, MemberEnded, Summary};
use words::{failure, how, row, sentence};

#[derive(Debug)]
pub(super) struct Board {
    console: Console,
    outlet: Outlet,
    rows: Rows,
    /// Whether output is shown, and not only how runs end.
    output: bool,
}

impl Board {
    pub(super) fn new(console: Console, output: bool) -> Self {
        Self {
            console,
            outlet: Outlet::new(console),
            rows: Rows::new(&console, !output),
            output,
        }
    }

    /// Takes what moves off the terminal, for whoever must leave in a hurry.
    pub(super) fn clearing(&self) -> Clear {
        self.rows.clearing()
    }

    fn member_ended(&mut self, ended: &MemberEnded) -> Result<(), Failure> {
        let is_good = ended.end.state == EndState::Succeeded;
        match is_good {
            true => self.rows.succeeded(ended, &sentence(ended)),
            false => self.rows.failed(ended, &how(ended)),
        }
        if self.output {
            // Failures are told at the end, where nothing scrolls them away.
            if is_good {
                self.say(&sentence(ended))?;
            }
        } else if !(self.rows.are_shown() && self.console.stdout_is_terminal) {
            let line = row(ended);
            self.outlet.write(Channel::Stdout, &[line.as_bytes()])?;
        }
        Ok(())
    }

    /// Says what the rows show by themselves.
    fn say_without_rows(&mut self, text: &str) -> Result<(), Failure> {
        match self.rows.are_shown() {
            true => Ok(()),
            false => self.say(text),
        }
    }

    /// Words of our own, in their place among the output.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.outlet.flush()?;
        self.outlet.end_line();
        let console = self.console;
        self.rows.aside(|| console.note(text));
        Ok(())
    }

    fn sum_up(&self, summary: &Summary) {
        if self.console.quiet {
            return;
        }
        let took = match summary.duration_ms {
            0 => String::new(),
            millis => format!(" in {}", human_duration(millis)),
        };
        let all = summary.results.len();
        let failed: Vec<&MemberEnded> = failures(summary).collect();
        for ended in &failed {
            let width = width_of(io::stderr()).filter(|_| self.console.stderr_is_terminal);
            self.console.note(&failure(ended, width));
        }
        let verdict = match failed.len() {
            // A record that tells no more than this.
            0 if all == 0 => format!("{}{took}", summary.state.as_str()),
            0 => format!("all {all} succeeded{took}"),
            count => format!("{count} of {all} did not succeed{took}"),
        };
        let is_good = summary.state == GroupState::Succeeded;
        self.console.verdict(&verdict, is_good);
    }
}

impl Viewer for Board {
    fn take(&mut self, line: &[u8], event: Event<'_>) -> Result<(), Failure> {
        if self.console.json {
            return self.outlet.write(Channel::Stdout, &[line, b"\n"]);
        }
        match event {
            Event::Output {
                owner, to, bytes, ..
            } => self.outlet.write_line_of(to, owner.as_deref(), &bytes),
            Event::Group(group) => {
                self.rows.name(&group);
                self.say_without_rows(&named(&group))
            }
            Event::Started(started) => {
                self.rows.started(&started.member);
                let branch = &started.member.branch;
                self.say_without_rows(&format!("{branch}: started"))
            }
            Event::MemberEnded(ended) => self.member_ended(&ended),
            Event::Warning(text) | Event::Gap(text) => {
                self.outlet.flush()?;
                let console = self.console;
                self.rows.aside(|| console.warning(&text));
                Ok(())
            }
            Event::Status(_)
            | Event::Ended(_)
            | Event::Pipeline(_)
            | Event::Job(_)
            | Event::Unknown => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.outlet.flush()
    }

    fn note(&mut self, text: &str) -> Result<(), Failure> {
        match self.output {
            true => self.say(&format!(
                "{text}; `branchyard log RUN` has the output that is missed meanwhile"
            )),
            false => self.say(text),
        }
    }

    fn clear(&mut self) {
        // What could not be written is part of the error, or came after it.
        self.outlet.discard();
        self.rows.clear();
    }

    fn ended(&mut self, ending: &Ending) -> Result<u8, Failure> {
        self.outlet.flush()?;
        self.rows.clear();
        let Ending::Summary(summary) = ending else {
            return Err(Failure::daemon(
                "the group's stream ended like that of something else",
            ));
        };
        if !self.console.json {
            self.sum_up(summary);
        }
        Ok(exit_code(summary))
    }
}

fn failures(summary: &Summary) -> impl Iterator<Item = &MemberEnded> {
    let results = summary.results.iter();
    results.filter(|ended| ended.end.state != EndState::Succeeded)
}

/// That of the first run whose command failed, else of the first that did not succeed.
fn exit_code(summary: &Summary) -> u8 {
    if summary.state == GroupState::Succeeded {
        return exit::OK;
    }
    let worst = failures(summary)
        .find(|ended| ended.end.state == EndState::Failed)
        .or_else(|| failures(summary).next());
    worst.map_or(exit::LOCAL, |ended| {
        exit::of_run(ended.end.state, ended.end.exit_code, ended.end.signal)
    })
}

/// `group 0197…: main, release/1.0`
fn named(group: &GroupRecord) -> String {
    let branches: Vec<&str> = group
        .members
        .iter()
        .map(|member| member.branch.as_str())
        .collect();
    format!("group {}: {}", group.group_id, branches.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    fn ended(rest: &str) -> MemberEnded {
        let text = format!(r#"{{"branch":"main","run_id":"{RUN}",{rest}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_group_ends_us_as_its_first_failure_does() {
        let code = |state: &str, results: &[&str]| {
            exit_code(&Summary {
                state: serde_json::from_value(state.into()).unwrap(),
                total: results.len(),
                counts: std::collections::BTreeMap::new(),
                duration_ms: 0,
                results: results.iter().map(|rest| ended(rest)).collect(),
            })
        };
        let (well, failed) = (
            r#""state":"succeeded","exit_code":0"#,
            r#""state":"failed","exit_code":3"#,
        );
        let (signalled, lost) = (r#""state":"signalled","signal":9"#, r#""state":"lost""#);
        assert_eq!(code("succeeded", &[well, well]), 0);
        assert_eq!(code("failed", &[well, lost, failed]), 3);
        assert_eq!(code("failed", &[signalled, lost]), 137);
        assert_eq!(code("failed", &[]), 1);
    }
}
