//! What a caller may say to `make`: targets, variables and options of GNU make 4.3 that neither
//! read a makefile from outside the workspace nor make it run something that no makefile holds.
//!
//! Words are read as make reads them (getopt, options and operands in any order), with whole
//! options only. The number of jobs is clamped, never refused for being large; where none is named, the
//! operator's default or, for a bare `-j`, a share of the cores is put in its place.

mod operands;
mod options;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::options::{MakeOption, Takes};
use super::words::{refusal, shown, without_nul};
use branchyard_model::Problem;

/// An argv that passed, and the paths in it that must resolve beneath the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Exactly what is executed after the program's name.
    pub args: Vec<String>,
    /// Paths from the top of the workspace, `..` and all, as the program will walk them. None
    /// leaves the workspace by its letters; whether a symbolic link does is for the caller to see
    /// when the run starts. They need not exist.
    pub beneath: Vec<String>,
    /// The words as they were asked for, where `args` names a number of jobs that the caller did not.
    pub asked: Option<Vec<String>>,
    /// Which of `args` end in such a number because of a bare `-j`. They hold the most that may be, and
    /// [`with_jobs`] lowers it once it is known how many share the cores.
    pub open_jobs: Vec<usize>,
}

/// What an operator's configuration says about `make`.
#[derive(Debug, Clone, Copy)]
pub struct MakePolicy<'a> {
    /// The most jobs that one run may have.
    pub max_jobs: u32,
    /// How many a run has that names no number.
    pub jobs: Option<u32>,
    /// Options (`-I`, `--eval`) and variables (`SHELL=`) that are let through although they are not
    /// safe with strangers. An option is allowed in all its spellings; the rule for paths stays.
    pub allow: &'a [String],
}

/// Checks the arguments of a `make` run.
pub fn make(args: Vec<String>, policy: &MakePolicy<'_>) -> Result<Checked, Problem> {
    let mut line = Line {
        policy: *policy,
        rest: args.into(),
        args: Vec::new(),
        names_jobs: false,
        open_jobs: Vec::new(),
        directory: String::new(),
        beneath: Vec::new(),
        paths: Vec::new(),
    };
    while let Some(word) = line.rest.pop_front() {
        without_nul(&word)?;
        if word == "--" {
            line.args.push(word);
            break;
        } else if word.starts_with("--") {
            line.long(word)?;
        } else if word.starts_with('-') {
            line.cluster(&word)?;
        } else {
            line.operand(word)?;
        }
    }
    while let Some(word) = line.rest.pop_front() {
        line.operand(word)?;
    }
    line.finish()
}

/// A command line on its way from `rest` to `args`.
struct Line<'a> {
    policy: MakePolicy<'a>,
    rest: VecDeque<String>,
    args: Vec<String>,
    names_jobs: bool,
    open_jobs: Vec<usize>,
    /// Where make will be after all `-C` so far.
    directory: String,
    beneath: Vec<String>,
    /// Paths from make's last directory, which is known only at the end.
    paths: Vec<String>,
}

impl Line<'_> {
    fn operand(&mut self, word: String) -> Result<(), Problem> {
        operands::check(&word, self.policy.allow)?;
        self.args.push(word);
        Ok(())
    }

    fn long(&mut self, word: String) -> Result<(), Problem> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let Some(option @ (_, takes)) = self.find(name, &word)? else {
            // Not one of ours, but the operator's: a value is read only where it is attached.
            self.args.push(word);
            return Ok(());
        };
        if *takes == Takes::Nothing && attached.is_some() {
            return Err(refusal(&word, "this option takes no value"));
        }
        let attached = attached.map(str::to_owned);
        self.option(option, word, "-", attached)
    }

    /// Short options in one word, such as `-ks` and `-kj4`; the first that takes a value ends it.
    fn cluster(&mut self, word: &str) -> Result<(), Problem> {
        if word == "-" {
            return Err(refusal(word, "'-' names nothing"));
        }
        for (at, letter) in word.char_indices().skip(1) {
            let Some(option @ (_, takes)) = self.find(&format!("-{letter}"), word)? else {
                continue;
            };
            if *takes != Takes::Nothing {
                let attached = &word[at + letter.len_utf8()..];
                let attached = (!attached.is_empty()).then(|| attached.to_owned());
                return self.option(option, word.to_owned(), &word[..at], attached);
            }
        }
        self.args.push(word.to_owned());
        Ok(())
    }

    /// The option of this name; `None` for one that only the operator's configuration knows.
    fn find(&self, name: &str, word: &str) -> Result<Option<&'static MakeOption>, Problem> {
        let allowed = |name: &str| self.policy.allow.iter().any(|entry| entry == name);
        match options::find(name) {
            Some((spellings, _))
                if options::RESTRICTED.contains(&spellings[0])
                    && !spellings.iter().any(|name| allowed(name)) =>
            {
                Err(refusal(
                    word,
                    &format!("the option {name} needs the operator's consent"),
                )
                .help("ask the operator to allow it for the repository"))
            }
            None if !allowed(name) => {
                let problem = refusal(word, &format!("the option {} is not allowed", shown(name)));
                Err(match options::starting_with(name) {
                    Some(whole) => problem.help(format!("write options in full, such as {whole}")),
                    None => problem.help("only options of GNU make 4.3 that are known to be safe pass; put -- before targets"),
                })
            }
            option => Ok(option),
        }
    }

    /// Takes over `word`, which holds (or ends in) `option`, and its value; `before` is what is to
    /// stand before a short spelling of it.
    fn option(
        &mut self,
        &(_, takes): &MakeOption,
        word: String,
        before: &str,
        attached: Option<String>,
    ) -> Result<(), Problem> {
        // What follows in a word of its own.
        let mut separate = None;
        match takes {
            Takes::Nothing => {}
            Takes::Jobs => {
                let number = attached.or_else(|| self.rest.pop_front_if(|next| is_number(next)));
                self.names_jobs = true;
                if number.is_none() {
                    self.open_jobs.push(self.args.len());
                }
                let jobs = jobs(number.as_deref(), self.policy.max_jobs)
                    .ok_or_else(|| refusal(&word, "the number of jobs is not a positive number"))?;
                self.args.push(format!("{before}j{jobs}"));
                return Ok(());
            }
            Takes::Load => {
                if attached.is_none() {
                    let begins = |c: char| c == '.' || c.is_ascii_digit();
                    separate = self.rest.pop_front_if(|next| next.starts_with(begins));
                }
                if attached
                    .as_ref()
                    .or(separate.as_ref())
                    .is_some_and(|load| !is_decimal(load))
                {
                    return Err(refusal(&word, "the load is not a number"));
                }
            }
            Takes::SyncType => {
                let types = ["none", "line", "target", "recurse"];
                if attached.is_some_and(|kind| !types.contains(&kind.as_str())) {
                    return Err(refusal(&word, "the type is none, line, target or recurse"));
                }
            }
            Takes::DebugFlags => {
                let known = |flags: String| {
                    !flags.is_empty() && flags.bytes().all(|b| b.is_ascii_lowercase() || b == b',')
                };
                if attached.is_some_and(|flags| !known(flags)) {
                    return Err(refusal(&word, "debug flags are words with commas between"));
                }
            }
            Takes::Directory | Takes::Path | Takes::Text => {
                if attached.is_none() {
                    separate = self.rest.pop_front();
                }
                let Some(value) = attached.as_ref().or(separate.as_ref()) else {
                    return Err(refusal(&word, "the option needs a value"));
                };
                without_nul(value)?;
                self.value(takes, value)?;
            }
        }
        self.args.push(word);
        self.args.extend(separate);
        Ok(())
    }

    fn value(&mut self, takes: Takes, value: &str) -> Result<(), Problem> {
        match takes {
            Takes::Directory => {
                operands::path(value)?;
                self.directory = join(&self.directory, value);
                if operands::escapes(&self.directory) {
                    return Err(leaves(value));
                }
                self.beneath.push(self.directory.clone());
            }
            Takes::Path => {
                operands::path(value)?;
                self.paths.push(value.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Checked, Problem> {
        for path in &self.paths {
            let whole = join(&self.directory, path);
            if operands::escapes(&whole) {
                return Err(leaves(path));
            }
            self.beneath.push(whole);
        }
        let mut asked = None;
        if let (Some(jobs), false) = (self.policy.jobs, self.names_jobs) {
            let jobs = jobs.clamp(1, self.policy.max_jobs.max(1));
            asked = Some(self.args.clone());
            self.args.insert(0, format!("-j{jobs}"));
        } else if !self.open_jobs.is_empty() {
            let mut words = self.args.clone();
            for at in &self.open_jobs {
                let bare = without_number(&words[*at]).len();
                words[*at].truncate(bare);
            }
            asked = Some(words);
        }
        Ok(Checked {
            args: self.args,
            beneath: self.beneath,
            asked,
            open_jobs: self.open_jobs,
        })
    }
}

/// A word of [`Checked::open_jobs`] with another number, never a larger one.
pub fn with_jobs(word: &str, jobs: u32) -> String {
    let bare = without_number(word);
    let most = word[bare.len()..].parse().unwrap_or(1);
    format!("{bare}{}", jobs.clamp(1, most))
}

fn without_number(word: &str) -> &str {
    word.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn leaves(path: &str) -> Problem {
    refusal(path, "the path leaves the workspace by '..'")
}

fn join(directory: &str, path: &str) -> String {
    if directory.is_empty() {
        return path.to_owned();
    }
    format!("{directory}/{path}")
}

/// The clamped number of jobs; a missing one would mean without limit.
fn jobs(number: Option<&str>, max_jobs: u32) -> Option<u32> {
    let max_jobs = max_jobs.max(1);
    let Some(number) = number else {
        return Some(max_jobs);
    };
    if !is_number(number) || number.bytes().all(|b| b == b'0') {
        return None;
    }
    // Digits that do not parse are only too many.
    Some(number.parse().map_or(max_jobs, |n: u32| n.min(max_jobs)))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

fn is_decimal(word: &str) -> bool {
    let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    digits(whole) && digits(part) && word.bytes().any(|b| b.is_ascii_digit())
}
