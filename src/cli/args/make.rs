//! The arguments of `make`, and what they mean: two hyphens part branches from what make gets.

use clap::Args;

use super::run::RunFlags;
use super::values;
use branchyard_model::{BranchName, RepoName};

#[derive(Debug, Args)]
pub(crate) struct MakeArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    repo: RepoName,
    /// The branch, as git shows it (main, feature/login), or a glob for several (release/*)
    #[arg(value_parser = values::branch_or_glob)]
    branch: String,
    /// With `--`: more branches and globs. Without: targets and variables for make
    #[arg(value_name = "BRANCHES")]
    words: Vec<String>,
    /// Targets, variables and options for make
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
    /// Of several branches: show what they print, each line after the name of its branch
    #[arg(long)]
    output: bool,
    #[command(flatten)]
    flags: RunFlags,
    /// Whether the line ends in `--`, which clap does not tell.
    #[arg(skip)]
    ends_in_hyphens: bool,
}

/// What is to be made where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    One(BranchName, Vec<String>),
    /// Branches and globs.
    Many(Vec<String>, Vec<String>),
}

impl MakeArgs {
    pub(crate) fn repo(&self) -> &RepoName {
        &self.repo
    }

    pub(crate) fn output(&self) -> bool {
        self.output
    }

    pub(crate) fn flags(&self) -> &RunFlags {
        &self.flags
    }

    pub(crate) fn wanted(&self) -> Wanted {
        let (branches, args) = self.parted();
        match (&branches[..], BranchName::parse(&self.branch)) {
            ([_], Ok(branch)) => Wanted::One(branch, args.to_vec()),
            _ => Wanted::Many(branches, args.to_vec()),
        }
    }

    /// Takes note of how the line ended, and says what is wrong with its branches.
    pub(super) fn settle(&mut self, ends_in_hyphens: bool) -> Result<(), String> {
        self.ends_in_hyphens = ends_in_hyphens;
        for branch in self.parted().0 {
            values::branch_or_glob(&branch).map_err(|why| {
                format!(
                    "{branch:?} is no branch: {why}\n\nWhat stands before -- is branches, and what \
                     follows it goes to make"
                )
            })?;
        }
        if self.output && matches!(self.wanted(), Wanted::One(..)) {
            return Err("--output is for several branches; one is always shown".to_owned());
        }
        Ok(())
    }

    fn parted(&self) -> (Vec<String>, &[String]) {
        let first = [self.branch.clone()];
        if self.args.is_empty() && !self.ends_in_hyphens {
            return (first.to_vec(), &self.words);
        }
        let branches = first.iter().chain(&self.words).cloned();
        (branches.collect(), &self.args)
    }
}
