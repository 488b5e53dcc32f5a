//! Ids as people name them: whole, or by as much of the start or the end as tells one from the others. That of a run the
//! daemon finds: see [`run_name`](super::run_name).

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Context;
use super::client::{Query, repo_path};
use super::exit::Failure;
use super::run_name::RunName;
use super::values::{self, is_part};
use branchyard_model::{DeliveryId, PipelineId, RepoName, SalvageId};

/// The newest of a repository, among which one is looked for.
const NEWEST: u32 = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IdName<T> {
    Whole(T),
    Part(String),
}

fn parse<T>(text: &str, whole: Result<T, String>) -> Result<IdName<T>, String> {
    match whole {
        Ok(id) => Ok(IdName::Whole(id)),
        Err(_) if is_part(text) => Ok(IdName::Part(text.to_owned())),
        Err(why) => Err(why),
    }
}

pub(crate) fn pipeline(text: &str) -> Result<IdName<PipelineId>, String> {
    parse(text, values::pipeline(text))
}

pub(crate) fn salvage(text: &str) -> Result<IdName<SalvageId>, String> {
    parse(text, values::salvage(text))
}

pub(crate) fn delivery(text: &str) -> Result<IdName<DeliveryId>, String> {
    parse(text, values::delivery(text))
}

/// An id does not tell of which of them it is.
pub(crate) fn run_or_pipeline(text: &str) -> Result<IdName<String>, String> {
    parse(text, values::run_or_pipeline(text))
}

impl<T: Clone + Display + DeserializeOwned> IdName<T> {
    /// The one that is meant, among the items of these lists.
    async fn among(
        &self,
        context: &Context,
        noun: &str,
        (paths, field): (&[String], &str),
    ) -> Result<T, Failure> {
        let part = match self {
            Self::Whole(id) => return Ok(id.clone()),
            Self::Part(part) => part,
        };
        let mut found: Vec<T> = Vec::new();
        for path in paths {
            let page: Value = context.client.get(path).await?.parse()?;
            let items = page["items"].as_array().into_iter().flatten();
            let ids = items.filter_map(|item| T::deserialize(&item[field]).ok());
            found.extend(ids.filter(|id| has_part(&id.to_string(), part)));
        }
        match &*found {
            [only] => Ok(only.clone()),
            [] => Err(Failure::daemon(format!(
                "no {noun} has an id that starts or ends with {part}"
            ))
            .help("give the whole id, if it is an old one")),
            [one, other, ..] => Err(Failure::daemon(format!(
                "more than one {noun} has an id that starts or ends with {part}: {one} and {other}"
            ))
            .help("give more of the id")),
        }
    }
}

fn has_part(id: &str, part: &str) -> bool {
    let part = part.to_ascii_lowercase();
    id.starts_with(&part) || id.ends_with(&part)
}

impl IdName<PipelineId> {
    pub(crate) async fn find(&self, context: &Context) -> Result<PipelineId, Failure> {
        let paths = match self {
            Self::Whole(_) => Vec::new(),
            Self::Part(_) => pipelines_of_all(context).await?,
        };
        self.among(context, "pipeline", (&paths, "pipeline_id"))
            .await
    }
}

/// Where the newest pipelines of each repository are.
async fn pipelines_of_all(context: &Context) -> Result<Vec<String>, Failure> {
    let repos: Value = context.client.get("/api/repos").await?.parse()?;
    let repos = repos["items"].as_array().cloned().unwrap_or_default();
    let names = repos.iter().filter_map(|repo| repo["name"].as_str());
    let names = names.filter_map(|name| RepoName::parse(name).ok());
    let query = Query::default().with("limit", Some(NEWEST));
    Ok(names
        .map(|repo| query.after(&repo_path(&repo, "/pipelines")))
        .collect())
}

impl IdName<SalvageId> {
    pub(crate) async fn find(&self, context: &Context) -> Result<SalvageId, Failure> {
        let paths = ["/api/salvage".to_owned()];
        self.among(context, "salvage", (&paths, "id")).await
    }
}

impl IdName<DeliveryId> {
    pub(crate) async fn find(
        &self,
        context: &Context,
        repo: &RepoName,
    ) -> Result<DeliveryId, Failure> {
        let query = Query::default().with("limit", Some(NEWEST));
        let paths = [query.after(&repo_path(repo, "/deliveries"))];
        self.among(context, "message", (&paths, "delivery_id"))
            .await
    }
}

impl IdName<String> {
    /// A run's, where there is one, or else a pipeline's.
    pub(crate) async fn find(&self, context: &Context) -> Result<String, Failure> {
        let part = match self {
            Self::Whole(id) => return Ok(id.clone()),
            Self::Part(part) => part,
        };
        if let Ok(run) = RunName::Part(part.clone()).find(context).await {
            return Ok(run.to_string());
        }
        let pipeline = IdName::<PipelineId>::Part(part.clone());
        Ok(pipeline.find(context).await?.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_named_by_all_of_it_or_by_its_start_or_end() {
        let id = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";
        let whole = PipelineId::parse(id).unwrap();
        assert_eq!(pipeline(id), Ok(IdName::Whole(whole)));
        assert_eq!(pipeline("4F5a6b"), Ok(IdName::Part("4F5a6b".to_owned())));
        for text in ["", "a6b", "latest", "../runs", "-a3b4"] {
            assert!(pipeline(text).is_err(), "{text}");
        }
        assert!(has_part(id, "4F5a6b") && has_part(id, "0197a3b4-5c"));
        assert!(!has_part(id, "5c6d"), "within is not enough");
    }
}
