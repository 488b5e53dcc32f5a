//! What the results tell of each test.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::results;
use branchyard_model::{BranchName, RepoName, TestHistory, TestState, TestedAt, TestedBy};

/// The reports of a repo that have their results here, the latest first.
pub(super) const KEPT: &str = "SELECT about, results FROM test_reports WHERE repo = ? AND results IS NOT NULL ORDER BY at DESC, id DESC";

/// Which tests of a repo are asked for.
#[derive(Debug, Clone, Default)]
pub struct TestedBranches {
    /// Only results of this branch count.
    pub branch: Option<BranchName>,
    /// The branch by which new failures are told.
    pub base: Option<BranchName>,
}

/// A report, and the results in it.
pub(super) struct KeptReport {
    tested: TestedAt,
    results: Vec<u8>,
}

/// A test as its latest report names it.
pub(super) struct TestName {
    suite: String,
    name: String,
    file: Option<String>,
}

pub(super) fn known(from: &Connection) -> rusqlite::Result<HashSet<TestedBy>> {
    let mut statement = from.prepare_cached("SELECT about FROM test_reports")?;
    let mut rows = statement.query([])?;
    let mut known = HashSet::new();
    while let Some(row) = rows.next()? {
        known.extend(about(row.get_ref(0)?.as_str()?).map(|tested| tested.by));
    }
    Ok(known)
}

/// What this version does not understand is indexed again.
fn about(json: &str) -> Option<TestedAt> {
    serde_json::from_str(json)
        .inspect_err(|error| tracing::error!(%error, "a test report in the index cannot be read"))
        .ok()
}

pub(super) fn kept(
    from: &Connection,
    repo: &RepoName,
    is_seen: impl Fn(&BranchName) -> bool,
) -> rusqlite::Result<(Vec<KeptReport>, HashMap<i64, TestName>)> {
    let mut statement = from.prepare_cached(KEPT)?;
    let mut rows = statement.query([repo.as_str()])?;
    let mut reports = Vec::new();
    while let Some(row) = rows.next()? {
        let tested = about(row.get_ref(0)?.as_str()?);
        if let Some(tested) = tested.filter(|tested| is_seen(&tested.branch)) {
            let results = row.get(1)?;
            reports.push(KeptReport { tested, results });
        }
    }
    let mut names =
        from.prepare_cached("SELECT id, suite, name, file FROM tests WHERE repo = ?")?;
    let names = names.query_map([repo.as_str()], |row| {
        let (suite, name, file) = (row.get(1)?, row.get(2)?, row.get(3)?);
        Ok((row.get(0)?, TestName { suite, name, file }))
    })?;
    Ok((reports, names.collect::<Result<_, _>>()?))
}

/// What is known of a test so far, from its latest result backwards.
struct TestSoFar<'a> {
    last: &'a TestedAt,
    state: TestState,
    ms: Option<u32>,
    counts: [u64; 3],
    took: Vec<u32>,
    is_flaky: bool,
    /// How it ended on files that were tested more than once: their number, whether it passed, and whether it failed.
    on_files: Vec<(usize, bool, bool)>,
    /// The first of the failures that are the latest results on the branch of `last`.
    failing_since: Option<&'a TestedAt>,
    /// Whether the one before it may have failed too.
    is_streak: bool,
}

/// A test of a series.
type Of = (usize, i64);

/// The tests of reports, which come the latest first.
pub(super) fn histories(
    reports: &[KeptReport],
    names: &HashMap<i64, TestName>,
    of: &TestedBranches,
) -> Vec<TestHistory> {
    let (mut tests, mut base) = (
        HashMap::<Of, TestSoFar<'_>>::new(),
        HashMap::<Of, TestState>::new(),
    );
    let mut series = HashMap::new();
    let files = tested_again(reports);
    for (report, files) in reports.iter().zip(files) {
        let tested = &report.tested;
        let next = series.len();
        let series = *series.entry(tested.by.series()).or_insert(next);
        let is_of_base = of.base.as_ref() == Some(&tested.branch);
        let is_counted = of
            .branch
            .as_ref()
            .is_none_or(|branch| *branch == tested.branch);
        for result in results::read(&report.results) {
            let id = (series, result.test);
            if is_of_base && result.state != TestState::Skipped {
                base.entry(id).or_insert(result.state);
            }
            if is_counted {
                let test = tests.entry(id).or_insert_with(|| TestSoFar {
                    last: tested,
                    state: result.state,
                    ms: result.ms,
                    counts: [0; 3],
                    took: Vec::new(),
                    is_flaky: false,
                    on_files: Vec::new(),
                    failing_since: None,
                    is_streak: true,
                });
                test.add(tested, &result, files);
            }
        }
    }
    let told = tests.into_iter().filter_map(|(id, test)| {
        let is_base = of.base.as_ref() == Some(&test.last.branch);
        let passes_there = !is_base && base.get(&id) == Some(&TestState::Passed);
        // A name is there for as long as a result is.
        names.get(&id.1).map(|name| test.told(name, passes_there))
    });
    let mut told: Vec<_> = told.collect();
    told.sort_by(|a, b| order(a).cmp(&order(b)));
    told
}

fn order(test: &TestHistory) -> (u8, &str, &str, String) {
    let rank = match (test.state, test.flaky) {
        (TestState::Failed, _) if test.new => 0,
        (TestState::Failed, _) => 1,
        (_, true) => 2,
        (_, false) => 3,
    };
    (rank, &test.suite, &test.name, test.last.by.series())
}

/// For each report the number of its files, if a series tested them more than once.
fn tested_again(reports: &[KeptReport]) -> Vec<Option<usize>> {
    let mut seen = HashMap::new();
    let of = |report: &KeptReport| {
        let tree = report.tested.tree.clone()?;
        Some((tree, report.tested.by.series()))
    };
    for key in reports.iter().filter_map(of) {
        let number = seen.len();
        seen.entry(key).or_insert((number, 0)).1 += 1;
    }
    let number = |report: &KeptReport| {
        let (number, times) = seen.get(&of(report)?)?;
        (*times > 1).then_some(*number)
    };
    reports.iter().map(number).collect()
}

impl<'a> TestSoFar<'a> {
    fn add(&mut self, tested: &'a TestedAt, result: &results::TestResult, files: Option<usize>) {
        self.counts[place(result.state)] += 1;
        self.took.extend(result.ms);
        self.is_flaky |= result.is_flaky;
        if let Some(files) = files {
            let at = self
                .on_files
                .iter()
                .position(|(number, ..)| *number == files);
            let at = at.unwrap_or_else(|| {
                self.on_files.push((files, false, false));
                self.on_files.len() - 1
            });
            let (_, passed, failed) = &mut self.on_files[at];
            *passed |= result.state == TestState::Passed;
            *failed |= result.state == TestState::Failed;
            self.is_flaky |= *passed && *failed;
        }
        if self.is_streak && tested.branch == self.last.branch {
            match result.state {
                TestState::Failed => self.failing_since = Some(tested),
                TestState::Passed => self.is_streak = false,
                // It says nothing.
                TestState::Skipped => {}
            }
        }
    }

    fn told(mut self, name: &TestName, passes_in_base: bool) -> TestHistory {
        let [failed, passed, skipped] = self.counts;
        self.took.sort_unstable();
        let median = self.took.get(self.took.len() / 2);
        let is_failing = self.state == TestState::Failed;
        TestHistory {
            suite: name.suite.clone(),
            name: name.name.clone(),
            file: name.file.clone(),
            state: self.state,
            passed,
            failed,
            skipped,
            flaky: self.is_flaky,
            new: is_failing && passes_in_base,
            ms: self.ms.map(u64::from),
            median_ms: median.copied().map(u64::from),
            failing_since: self.failing_since.filter(|_| is_failing).cloned(),
            last: self.last.clone(),
        }
    }
}

fn place(state: TestState) -> usize {
    match state {
        TestState::Failed => 0,
        TestState::Passed => 1,
        TestState::Skipped => 2,
    }
}
