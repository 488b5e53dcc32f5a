//! What the runs of a group look like. On a terminal: a line for each branch that moves, until it
//! gives way to one that says how it ended. Elsewhere: a line with tabs for each run that ended. With
//! `--output` it is the output that was asked for, each line after the name of its branch, and the rest
//! goes to stderr.

use super::exit::{self, Failure};
use super::outlet::Outlet;
use super::render::{Cell, Console, Listing, human_duration, printable};
use super::rows::Rows;
use super::signals::Clear;
use super::stream::{Channel, Complete, Ending, Event, Group, GroupEvent, MemberEnded, Summary};
use super::verdict;
use super::watch::Viewer;

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

    fn event(&mut self, event: GroupEvent) -> Result<(), Failure> {
        match event {
            GroupEvent::Named(group) => {
                self.rows.name(&group);
                if !self.rows.are_shown() {
                    self.say(&named(&group))?;
                }
            }
            GroupEvent::Started(member) => {
                self.rows.started(&member);
                if !self.rows.are_shown() {
                    self.say(&format!("{}: started", member.branch))?;
                }
            }
            GroupEvent::Ended(ended) => {
                self.rows.ended(&ended, &sentence(&ended));
                if self.output {
                    self.say(&sentence(&ended))?;
                } else if !(self.rows.are_shown() && self.console.stdout_is_terminal()) {
                    let line = row(&ended);
                    self.outlet.write(Channel::Stdout, &[line.as_bytes()])?;
                }
            }
        }
        Ok(())
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
        if self.console.quiet() {
            return;
        }
        let took = summary.duration_ms.map(human_duration);
        let took = took.map(|took| format!(" in {took}")).unwrap_or_default();
        let all = summary.results.len();
        let failed: Vec<&MemberEnded> = failures(summary).collect();
        for ended in &failed {
            let run = ended.member.run_id;
            let text = format!("{}\n  `branchyard log {run}`", sentence(ended));
            self.console.note(&text);
        }
        let verdict = match failed.len() {
            // A record that tells no more than this.
            0 if all == 0 => format!("{}{took}", summary.state),
            0 => format!("all {all} succeeded{took}"),
            count => format!("{count} of {all} did not succeed{took}"),
        };
        self.console.verdict(&verdict, summary.state == "succeeded");
    }
}

impl Viewer for Board {
    fn take(&mut self, line: &[u8], event: Event<'_>) -> Result<(), Failure> {
        if self.console.json() {
            return self.outlet.write(Channel::Stdout, &[line, b"\n"]);
        }
        match event {
            Event::Output {
                branch, to, bytes, ..
            } => {
                // Half a line of one branch would become one with another's.
                let branch = printable(&branch.unwrap_or_default());
                let parts: [&[u8]; 4] = [branch.as_bytes(), b" | ", &bytes, b"\n"];
                self.outlet.write(to, &parts)
            }
            Event::Group(event) => self.event(event),
            Event::Warning(text) | Event::Gap(text) => {
                self.outlet.flush()?;
                let console = self.console;
                self.rows.aside(|| console.warning(&text));
                Ok(())
            }
            Event::Status(_) | Event::Ended(_) | Event::Unknown => Ok(()),
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
            return Err(Failure::daemon("the group's stream ended like a run's"));
        };
        if !self.console.json() {
            self.sum_up(summary);
        }
        Ok(exit_code(summary))
    }
}

fn failures(summary: &Summary) -> impl Iterator<Item = &MemberEnded> {
    let results = summary.results.iter();
    results.filter(|ended| ended.state != "succeeded")
}

/// That of the first run whose command failed, else of the first that did not succeed.
fn exit_code(summary: &Summary) -> u8 {
    if summary.state == "succeeded" {
        return exit::OK;
    }
    let worst = failures(summary)
        .find(|ended| ended.state == "failed")
        .or_else(|| failures(summary).next());
    worst.map_or(exit::LOCAL, |ended| {
        exit::of_run(&ended.state, ended.exit_code, ended.signal)
    })
}

/// `group 0197…: main, release/1.0`
fn named(group: &Group) -> String {
    let branches: Vec<&str> = group
        .members
        .iter()
        .map(|member| member.branch.as_str())
        .collect();
    format!("group {}: {}", group.group_id, branches.join(", "))
}

/// `main: failed with exit code 2 in 1.2s: src/a.c:3:5: error: …`
fn sentence(ended: &MemberEnded) -> String {
    let how = verdict::words(&Complete {
        state: ended.state.clone(),
        exit_code: ended.exit_code,
        signal: ended.signal,
        commit: None,
        duration_ms: ended.duration_ms,
        cached: None,
        reason: None,
        incremental: ended.incremental,
        warm: None,
        diagnostics: None,
    });
    let because = ended.because().filter(|_| ended.state != "succeeded");
    let because = because.map(|why| format!(": {why}")).unwrap_or_default();
    format!("{}: {how}{because}", ended.member.branch)
}

/// Branch, state, exit code, run, milliseconds, and why, with tabs between.
fn row(ended: &MemberEnded) -> String {
    let number = |number: Option<String>| Cell::text(number.unwrap_or_default());
    let because = ended.because().filter(|_| ended.state != "succeeded");
    let mut listing = Listing::new(&["BRANCH", "STATE", "EXIT", "RUN", "TOOK", "WHY"]);
    listing.row(vec![
        Cell::text(&ended.member.branch),
        Cell::text(&ended.state),
        number(ended.exit_code.map(|code| code.to_string())),
        Cell::text(ended.member.run_id.to_string()),
        number(ended.duration_ms.map(|millis| millis.to_string())),
        Cell::text(because.unwrap_or_default()),
    ]);
    listing.plain()
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
    fn a_run_that_ended_is_one_line_either_way() {
        let failed = ended(
            r#""state":"failed","exit_code":2,"duration_ms":1234,"diagnostics":{"errors":1,"warnings":0,
                "first":{"file":"a.c","line":3,"severity":"error","message":"no\tx"}}"#,
        );
        assert_eq!(
            sentence(&failed),
            "main: failed with exit code 2 in 1.2s: a.c:3: error: no\tx"
        );
        assert_eq!(
            row(&failed),
            format!("main\tfailed\t2\t{RUN}\t1234\ta.c:3: error: no\\tx\n")
        );
        let well = ended(
            r#""state":"succeeded","exit_code":0,"duration_ms":10,"diagnostics":{"errors":1,"warnings":0,
                "first":{"severity":"error","message":"not meant"}}"#,
        );
        assert_eq!(row(&well), format!("main\tsucceeded\t0\t{RUN}\t10\t\n"));
    }

    #[test]
    fn a_group_ends_us_as_its_first_failure_does() {
        let code = |state: &str, results: &[&str]| {
            exit_code(&Summary {
                state: state.to_owned(),
                duration_ms: None,
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
