//! A whole file.

use std::collections::HashSet;

use super::concurrency::{read_concurrency, read_defaults};
use super::job::{MAX_JOBS, read_job};
use super::keys::FILE;
use super::model::{FileModel, JobModel, TextAt};
use super::reader::Reader;
use super::step::is_name;
use super::suggest::suggestion;
use super::triggers::read_triggers;
use crate::yaml::{YamlKind, YamlNode};

pub(crate) fn read_file(reader: &mut Reader<'_>, node: &YamlNode) -> FileModel {
    let mut file = FileModel::default();
    let mut jobs = None;
    let mut has_triggers = false;
    if !matches!(node.kind, YamlKind::Map(_)) {
        reader.expected(node, "the workflow", "a mapping with `on` and `jobs`");
        return file;
    }
    for (key, _, value) in reader.keys(node, FILE) {
        match key {
            "name" => file.name = reader.text(value, key),
            "run-name" => file.run_name = reader.full_text(value, key),
            "on" => {
                has_triggers = true;
                read_triggers(reader, value, &mut file);
            }
            "env" => file.env = reader.env(value),
            "defaults" => file.defaults = read_defaults(reader, value),
            "concurrency" => file.concurrency = read_concurrency(reader, value),
            "jobs" => jobs = Some(value),
            "description" => drop(reader.text(value, key)),
            _ => {}
        }
    }
    if !has_triggers {
        reader.invalid(
            node.at,
            "the workflow needs `on`, such as {push: {branches: [main]}}",
        );
    }
    match jobs {
        Some(jobs) => read_jobs(reader, jobs, &mut file),
        None => reader.invalid(node.at, "the workflow needs `jobs`"),
    }
    file
}

fn read_jobs(reader: &mut Reader<'_>, node: &YamlNode, file: &mut FileModel) {
    let entries = reader.entries(node, "jobs");
    if entries.is_empty() || entries.len() > MAX_JOBS {
        let given = entries.len();
        reader.invalid(
            node.at,
            format!("the workflow has {given} jobs; it has 1 to {MAX_JOBS}"),
        );
    }
    let names: Vec<String> = entries.iter().map(|(name, ..)| name.clone()).collect();
    for (name, key, value) in entries.into_iter().take(MAX_JOBS) {
        if !is_name(&name) {
            let message = format!(
                "`{name}` is no name of a job; use less than 100 letters, digits, - and _, and begin with a letter or a single _"
            );
            reader.invalid(key.at, message);
        }
        if file
            .jobs
            .iter()
            .any(|job| job.id.text.eq_ignore_ascii_case(&name))
        {
            reader.invalid(
                key.at,
                format!("two jobs are called `{name}`; their names differ in case alone"),
            );
        }
        let id = TextAt {
            text: name,
            at: key.at,
        };
        let job = read_job(reader, id, value, &file.defaults);
        file.jobs.extend(job);
    }
    check_needs(reader, file, &names);
}

fn check_needs(reader: &mut Reader<'_>, file: &FileModel, names: &[String]) {
    for job in &file.jobs {
        for (at, need) in job.needs.iter().enumerate() {
            if !names.contains(&need.text) {
                let hint = suggestion(&need.text, names.iter().map(String::as_str));
                reader.invalid(
                    need.at,
                    format!(
                        "`needs` names `{}`, which is no job of this file{hint}",
                        need.text
                    ),
                );
            } else if job.needs[..at].iter().any(|other| other.text == need.text) {
                reader.invalid(
                    need.at,
                    format!("`needs` names `{}` twice; remove one of them", need.text),
                );
            }
        }
    }
    let circles = in_circles(file);
    let in_circle = |name: &str| circles.contains(name);
    for job in file.jobs.iter().filter(|job| in_circle(&job.id.text)) {
        if let Some(need) = job.needs.iter().find(|need| in_circle(&need.text)) {
            let message = format!(
                "`{}` needs `{}`, which needs it in turn; break the circle",
                job.id.text, need.text
            );
            reader.invalid(need.at, message);
        }
    }
}

/// The jobs that are left when all that need none of the others, or that none of the others needs, are taken away.
fn in_circles(file: &FileModel) -> HashSet<String> {
    let mut left: HashSet<String> = file.jobs.iter().map(|job| job.id.text.clone()).collect();
    loop {
        let jobs = || file.jobs.iter().filter(|job| left.contains(&job.id.text));
        let needed: HashSet<&str> = jobs()
            .flat_map(|job| &job.needs)
            .map(|need| need.text.as_str())
            .collect();
        let stays = |job: &&JobModel| {
            needed.contains(job.id.text.as_str())
                && job.needs.iter().any(|need| left.contains(&need.text))
        };
        let rest: HashSet<String> = jobs()
            .filter(stays)
            .map(|job| job.id.text.clone())
            .collect();
        if rest.len() == left.len() {
            return left;
        }
        left = rest;
    }
}
