//! What a handler adds to the note of a call, where its address does not say everything.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use parking_lot::Mutex;

use crate::app::audit::Named;
use branchyard_model::{BranchName, RepoName};

#[derive(Debug, Clone, Default)]
pub(in crate::http) struct Noted(Arc<Mutex<Additions>>);

#[derive(Debug, Default)]
struct Additions {
    named: Named,
    was_a_look: bool,
}

impl Noted {
    /// The call is about this repo, and this branch of it.
    pub(in crate::http) fn at(&self, repo: Option<&RepoName>, branch: Option<&BranchName>) {
        self.0.lock().named = Named::at(repo.cloned(), branch.cloned());
    }

    /// The call made or touched what has this id.
    pub(in crate::http) fn touched(&self, kind: &str, id: &str) {
        self.0.lock().named = Named::by(|name| (name == kind).then_some(id));
    }

    /// As it was asked for, it changes nothing.
    pub(in crate::http) fn looks(&self) {
        self.0.lock().was_a_look = true;
    }

    pub(super) fn named(&self) -> Named {
        self.0.lock().named.clone()
    }

    pub(super) fn was_a_look(&self) -> bool {
        self.0.lock().was_a_look
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Noted {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
