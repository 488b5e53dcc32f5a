//! Reports written, bounded and forgotten.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::results::{self, TestResult};
use branchyard_model::{RepoName, TestCase, TestReport, TestedAt, TestedBy};

/// So many reports of a job, or runs, have their results here, of each branch.
const OF_SERIES: i64 = 20;
/// So many of a repo,
const OF_REPO: i64 = 400;
/// and so many bytes of them, each counted as if no other report had its tests' names.
const BYTES_OF_REPO: i64 = 128 << 20;

pub(in crate::run_index) const INSERT: &str = "INSERT INTO test_reports (origin, job, attempt, repo, branch, series, at, about, size, results)
    VALUES (:origin, :job, :attempt, :repo, :branch, :series, :at, :about, :size, :results)
    ON CONFLICT (origin, job, attempt) DO UPDATE SET at = :at, about = :about, size = :size, results = :results";

/// Those of a repo that are beyond the bounds.
const BEYOND: &str = "SELECT id FROM (
        SELECT id,
            row_number() OVER newest AS nth,
            sum(size) OVER newest AS bytes,
            row_number() OVER (PARTITION BY branch, series ORDER BY at DESC, id DESC) AS nth_of_series
        FROM test_reports WHERE repo = :repo AND results IS NOT NULL
        WINDOW newest AS (ORDER BY at DESC, id DESC))
    WHERE nth > :reports OR bytes > :bytes OR nth_of_series > :of_series";

pub(super) fn put(
    repo: &RepoName,
    tested: &TestedAt,
    report: &TestReport,
    to: &Connection,
) -> rusqlite::Result<()> {
    let (results, size) = results_of(repo, report, to)?;
    let about = serde_json::to_string(tested)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let (origin, job, attempt) = key(&tested.by);
    to.prepare_cached(INSERT)?.execute(named_params! {
        ":origin": origin,
        ":job": job,
        ":attempt": attempt,
        ":repo": repo.as_str(),
        ":branch": tested.branch.as_str(),
        ":series": tested.by.series(),
        ":at": tested.at.as_microsecond(),
        ":about": about,
        ":size": i64::try_from(size).unwrap_or(i64::MAX),
        ":results": results,
    })?;
    let of = named_params! {
        ":repo": repo.as_str(),
        ":reports": OF_REPO,
        ":bytes": BYTES_OF_REPO,
        ":of_series": OF_SERIES,
    };
    let beyond: Vec<i64> = to
        .prepare_cached(BEYOND)?
        .query_map(of, |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    drop_results(repo.as_str(), &beyond, to)
}

/// By what a report is known: the pipeline or run, the job, and the attempt at it.
fn key(by: &TestedBy) -> (String, &str, u32) {
    match by {
        TestedBy::Job {
            pipeline_id,
            job,
            attempt,
            ..
        } => (pipeline_id.to_string(), job, *attempt),
        TestedBy::Run { run_id } => (run_id.to_string(), "", 0),
    }
}

/// Of a test that a report has twice the worst counts.
fn results_of(
    repo: &RepoName,
    report: &TestReport,
    to: &Connection,
) -> rusqlite::Result<(Vec<u8>, usize)> {
    let (mut found, mut size) = (Vec::<TestResult>::new(), 0);
    let mut places = HashMap::new();
    for case in &report.tests {
        let test = test_id(repo, case, to)?;
        let result = TestResult {
            test,
            state: case.state,
            is_flaky: case.is_flaky(),
            ms: case.ms.and_then(|ms| u32::try_from(ms).ok()),
        };
        let at = *places.entry(test).or_insert(found.len());
        match found.get_mut(at) {
            Some(known) => {
                // Failed is the first, skipped the last.
                known.state = known.state.min(result.state);
                known.is_flaky |= result.is_flaky;
            }
            None => {
                found.push(result);
                size +=
                    case.suite.len() + case.name.len() + case.file.as_deref().map_or(0, str::len);
            }
        }
    }
    let mut bytes = Vec::new();
    found.iter().for_each(|result| result.write(&mut bytes));
    let size = size + bytes.len();
    Ok((bytes, size))
}

/// The row of a test's name, which is made where there is none.
fn test_id(repo: &RepoName, case: &TestCase, to: &Connection) -> rusqlite::Result<i64> {
    let known: Option<(i64, Option<String>)> = to
        .prepare_cached("SELECT id, file FROM tests WHERE repo = ? AND suite = ? AND name = ?")?
        .query_row(params![repo.as_str(), case.suite, case.name], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    match known {
        Some((id, file)) => {
            // Where a test passes, producers may not say where it is.
            if case.file.is_some() && case.file != file {
                to.prepare_cached("UPDATE tests SET file = ? WHERE id = ?")?
                    .execute(params![case.file, id])?;
            }
            Ok(id)
        }
        None => to
            .prepare_cached("INSERT INTO tests (repo, suite, name, file) VALUES (?, ?, ?, ?)")?
            .insert(params![repo.as_str(), case.suite, case.name, case.file]),
    }
}

/// Forgets the reports of a pipeline or a run.
pub(super) fn remove(origin: &str, from: &Connection) -> rusqlite::Result<()> {
    let found: Vec<(i64, String)> = from
        .prepare_cached("SELECT id, repo FROM test_reports WHERE origin = ?")?
        .query_map([origin], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, repo) in found {
        drop_results(&repo, &[id], from)?;
        from.prepare_cached("DELETE FROM test_reports WHERE id = ?")?
            .execute([id])?;
    }
    Ok(())
}

/// Lets go of the results of these reports, and of the names that no other report of the repo has.
fn drop_results(repo: &str, reports: &[i64], from: &Connection) -> rusqlite::Result<()> {
    let mut orphans = HashSet::new();
    for id in reports {
        let kept: Option<Vec<u8>> = from
            .prepare_cached("SELECT results FROM test_reports WHERE id = ?")?
            .query_row([id], |row| row.get(0))?;
        let bytes = kept.unwrap_or_default();
        orphans.extend(results::read(&bytes).map(|result| result.test));
        from.prepare_cached("UPDATE test_reports SET results = NULL, size = 0 WHERE id = ?")?
            .execute([id])?;
    }
    let mut kept = from.prepare_cached(super::query::KEPT)?;
    let mut rows = kept.query([repo])?;
    // Most tests are in the first report that is looked at.
    while !orphans.is_empty()
        && let Some(row) = rows.next()?
    {
        for result in results::read(row.get_ref(1)?.as_blob()?) {
            orphans.remove(&result.test);
        }
    }
    let mut delete = from.prepare_cached("DELETE FROM tests WHERE id = ?")?;
    for id in orphans {
        delete.execute([id])?;
    }
    Ok(())
}
