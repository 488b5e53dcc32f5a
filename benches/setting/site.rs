//! A place to measure at: a remote with a repository in it, and a yard without a daemon yet.

use std::path::{Path, PathBuf};

use super::plain::ByHand;
use super::repository::{Branches, branch_out, generate, lengthen};
use super::served::Served;
use crate::measure::{Report, thousands};
use crate::support::{Options, PROGRAM, Yard, git};

/// Nothing here is refused for coming too often.
const LIMITS: &str = "[limits]\nmax_requests_per_second = 1000000\nmax_request_burst = 1000000\n\
    max_streams_per_principal = 8000\nmax_concurrent_runs = 64\nmax_concurrent_runs_per_repo = 64\n";

/// As a yard has it that nobody configured; those of the tests start cold.
const WARM: &str = "warm = \"nearest\"\n";
const COLD: &str = "warm = \"off\"\n";

/// Repositories take long to make, and room: each is made when its turn comes.
pub type Making = Box<dyn FnOnce() -> Site>;

pub struct Site {
    pub yard: Yard,
    /// Where the repository comes from.
    pub url: String,
    /// What it is called in the report.
    pub label: String,
    /// Of the repository, where somebody counted.
    pub files: usize,
}

impl Site {
    /// The few files that every yard of the tests has.
    pub fn small() -> Self {
        Self::with("")
    }

    /// The same, with further tables in the configuration.
    pub fn with(tables: &str) -> Self {
        let yard = Yard::asleep(Options {
            tables: format!("{LIMITS}{tables}"),
            repo: WARM.to_owned(),
            ..Options::default()
        });
        Self {
            url: yard.origin.url(),
            yard,
            label: String::new(),
            files: 0,
        }
    }

    /// A generated repository.
    pub fn generated(files: usize, branches: usize) -> Self {
        Self::with_workflows(files, branches, &[])
    }

    /// The same with these workflow files in every commit, by their names and texts.
    pub fn with_workflows(files: usize, branches: usize, workflows: &[(&str, &str)]) -> Self {
        let site = Self::small();
        let origin = &site.yard.origin;
        for (name, text) in workflows {
            origin.write(&format!(".branchyard/workflows/{name}.yml"), text);
        }
        if !workflows.is_empty() {
            origin.commit("workflows");
            origin.push("main");
        }
        generate(&origin.bare, files, Branches(branches));
        Self {
            label: format!("{} files", thousands(files)),
            files,
            ..site
        }
    }

    /// A generated repository of few files and so many commits.
    pub fn of_commits(commits: usize) -> Self {
        let site = Self::small();
        lengthen(&site.yard.origin.bare, commits);
        Self {
            label: format!("{} commits", thousands(commits)),
            ..site
        }
    }

    /// A copy of a repository of the caller's, whose HEAD is called `main` here.
    pub fn of(repository: &Path, branches: usize) -> Self {
        let mut site = Self::small();
        let copy = site.yard.dir.path().join("given.git");
        let from = std::fs::canonicalize(repository).expect("BENCH_REPO is a repository");
        let paths = [&from, &copy].map(|path| path.to_str().unwrap());
        git(
            site.yard.dir.path(),
            &["clone", "-q", "--bare", "--", paths[0], paths[1]],
        );
        site.files = git(&copy, &["ls-tree", "-r", "--name-only", "HEAD"])
            .lines()
            .count();
        let head = git(&copy, &["rev-parse", "HEAD^{commit}"]);
        git(&copy, &["update-ref", "refs/heads/main", &head]);
        branch_out(&copy, Branches(branches));
        site.url = copy.to_str().unwrap().to_owned();
        site.start_warm();
        site.label = from
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        site
    }

    /// The generated repositories, and the one that the caller gave: how to make each of them, with as many
    /// branches as so many rounds need, and the rounds.
    pub fn each(report: &Report, branches: fn(usize) -> usize) -> Vec<(Making, usize)> {
        let scale = &report.scale;
        let mut each: Vec<(Making, usize)> = Vec::new();
        for (files, rounds) in scale.repositories() {
            let make = move || Self::generated(files, branches(rounds));
            each.push((Box::new(make), rounds));
        }
        if let Some(given) = scale.repository.clone() {
            let rounds = scale.rounds(7);
            let make = move || Self::of(&given, branches(rounds));
            each.push((Box::new(make), rounds));
        }
        each
    }

    /// From here on, a new workspace is a plain checkout.
    pub fn start_cold(&mut self) {
        self.configure(COLD);
    }

    /// From here on, a new workspace is made from its nearest sibling.
    pub fn start_warm(&mut self) {
        self.configure(WARM);
    }

    fn configure(&mut self, repo: &str) {
        self.yard.configure(Options {
            tables: LIMITS.to_owned(),
            url: Some(self.url.clone()),
            repo: repo.to_owned(),
            ..Options::default()
        });
    }

    pub fn by_hand(&self) -> ByHand {
        ByHand::new(self.yard.dir.path(), &self.url)
    }

    /// Where the yard keeps a branch's workspace.
    pub fn workspace(&self, branch: &str) -> PathBuf {
        self.yard.workspace(branch)
    }

    pub async fn serve(self) -> Served {
        self.serve_by(Path::new(PROGRAM)).await
    }

    /// The same, by another program.
    pub async fn serve_by(self, program: &Path) -> Served {
        Served::start(self, program).await
    }
}
