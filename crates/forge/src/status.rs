//! Commit statuses: what a forge shows beside a commit, and the request that sets it.

use branchyard_model::{CommitId, ForgeKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ForgeRepo;

/// All but the characters that RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What tells the statuses of one commit apart is at most so long on every forge.
const LONGEST_CONTEXT: usize = 255;
/// GitLab refuses a status with a longer one.
const LONGEST_GITLAB_URL: usize = 255;

/// In words of our own, which each forge's are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitStatus {
    /// A later status with the same one takes an earlier one's place.
    pub context: String,
    pub state: StatusState,
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusState {
    Pending,
    Running,
    Success,
    Failure,
    Error,
    Cancelled,
}

/// To be sent by POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRequest {
    pub url: String,
    pub body: Value,
}

impl ForgeRepo {
    pub fn status_request(&self, commit: &CommitId, status: &CommitStatus) -> StatusRequest {
        let path = match self.kind {
            // One segment, slashes and all.
            ForgeKind::GitLab => format!("projects/{}", encoded(&self.path)),
            ForgeKind::GitHub | ForgeKind::Gitea | ForgeKind::Forgejo => {
                let parts: Vec<_> = self.path.split('/').map(encoded).collect();
                format!("repos/{}", parts.join("/"))
            }
        };
        StatusRequest {
            url: format!("{}/{path}/statuses/{commit}", self.api),
            body: body(self.kind, status),
        }
    }
}

/// The header, by its name and value, with which a forge takes a token.
pub fn authorization(kind: ForgeKind, token: &str) -> (&'static str, String) {
    match kind {
        ForgeKind::GitHub => ("authorization", format!("Bearer {token}")),
        ForgeKind::GitLab => ("private-token", token.to_owned()),
        ForgeKind::Gitea | ForgeKind::Forgejo => ("authorization", format!("token {token}")),
    }
}

fn body(kind: ForgeKind, status: &CommitStatus) -> Value {
    let (context, longest_description) = match kind {
        ForgeKind::GitHub => ("context", 140),
        ForgeKind::GitLab => ("name", 255),
        ForgeKind::Gitea | ForgeKind::Forgejo => ("context", 255),
    };
    let mut body = json!({
        "state": state(kind, status.state),
        "description": cut(&status.description, longest_description),
    });
    body[context] = cut(&status.context, LONGEST_CONTEXT).into();
    let fits =
        |url: &&String| kind != ForgeKind::GitLab || url.chars().count() <= LONGEST_GITLAB_URL;
    if let Some(url) = status.target_url.as_ref().filter(fits) {
        body["target_url"] = url.as_str().into();
    }
    body
}

/// GitLab alone tells all of them apart.
fn state(kind: ForgeKind, state: StatusState) -> &'static str {
    match (kind, state) {
        (_, StatusState::Pending) => "pending",
        (_, StatusState::Success) => "success",
        (ForgeKind::GitLab, StatusState::Running) => "running",
        (ForgeKind::GitLab, StatusState::Failure | StatusState::Error) => "failed",
        (ForgeKind::GitLab, StatusState::Cancelled) => "canceled",
        (_, StatusState::Running) => "pending",
        (_, StatusState::Failure) => "failure",
        (_, StatusState::Error | StatusState::Cancelled) => "error",
    }
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept = text.chars().take(longest - 1);
    kept.chain(['…']).collect()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ForgeKind; 4] = [
        ForgeKind::GitHub,
        ForgeKind::GitLab,
        ForgeKind::Gitea,
        ForgeKind::Forgejo,
    ];
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn request(kind: ForgeKind, url: &str, status: &CommitStatus) -> StatusRequest {
        let commit = CommitId::parse(COMMIT).unwrap();
        let repo = ForgeRepo::of(kind, url, None).unwrap();
        repo.status_request(&commit, status)
    }

    fn status(state: StatusState) -> CommitStatus {
        CommitStatus {
            context: "branchyard/ci.yml".to_owned(),
            state,
            description: "2 of 3 jobs".to_owned(),
            target_url: Some("https://yard.local/p/1".to_owned()),
        }
    }

    #[test]
    fn each_forge_has_its_own_url_and_body() {
        let status = status(StatusState::Running);
        let github = request(ForgeKind::GitHub, "https://github.com/o/n.git", &status);
        let url = format!("https://api.github.com/repos/o/n/statuses/{COMMIT}");
        assert_eq!(github.url, url);
        let body = json!({
            "state": "pending",
            "context": "branchyard/ci.yml",
            "description": "2 of 3 jobs",
            "target_url": "https://yard.local/p/1",
        });
        assert_eq!(github.body, body);
        for kind in [ForgeKind::Gitea, ForgeKind::Forgejo] {
            let request = request(kind, "git@tea.local:o/n.git", &status);
            let url = format!("https://tea.local/api/v1/repos/o/n/statuses/{COMMIT}");
            assert_eq!((request.url, request.body), (url, body.clone()));
        }
        let gitlab = request(ForgeKind::GitLab, "git@gitlab.com:a/b/c.git", &status);
        let url = format!("https://gitlab.com/api/v4/projects/a%2Fb%2Fc/statuses/{COMMIT}");
        assert_eq!(gitlab.url, url);
        let body = json!({
            "state": "running",
            "name": "branchyard/ci.yml",
            "description": "2 of 3 jobs",
            "target_url": "https://yard.local/p/1",
        });
        assert_eq!(gitlab.body, body);
    }

    #[test]
    fn each_forge_has_its_own_states() {
        use StatusState::{Cancelled, Error, Failure, Pending, Running, Success};
        for (state, github, gitlab) in [
            (Pending, "pending", "pending"),
            (Running, "pending", "running"),
            (Success, "success", "success"),
            (Failure, "failure", "failed"),
            (Error, "error", "failed"),
            (Cancelled, "error", "canceled"),
        ] {
            let body = |kind| body(kind, &status(state));
            assert_eq!(body(ForgeKind::GitHub)["state"], github);
            assert_eq!(body(ForgeKind::Gitea)["state"], github);
            assert_eq!(body(ForgeKind::Forgejo)["state"], github);
            assert_eq!(body(ForgeKind::GitLab)["state"], gitlab);
        }
    }

    #[test]
    fn long_texts_are_cut_to_what_the_forge_takes() {
        let mut status = status(StatusState::Success);
        status.description = "ü".repeat(1000);
        status.context = "x".repeat(1000);
        status.target_url = Some(format!("https://yard.local/{}", "x".repeat(255)));
        for (kind, longest) in KINDS.into_iter().zip([140, 255, 255, 255]) {
            let body = body(kind, &status);
            let description = body["description"].as_str().unwrap();
            assert_eq!(description, format!("{}…", "ü".repeat(longest - 1)));
            let context = &body[if kind == ForgeKind::GitLab {
                "name"
            } else {
                "context"
            }];
            assert_eq!(context.as_str().unwrap().chars().count(), 255);
            let has_url = body.get("target_url").is_some();
            assert_eq!(has_url, kind != ForgeKind::GitLab);
        }
        status.target_url = None;
        for kind in KINDS {
            assert_eq!(body(kind, &status).get("target_url"), None);
        }
    }

    #[test]
    fn nothing_leaves_its_segment_of_the_path() {
        let status = status(StatusState::Success);
        for path in ["a?b/c#d", "a%2e/%2e%2e", "ä b/c;d", "a@b/c:d", "…/~"] {
            for kind in KINDS {
                let request = request(kind, &format!("git@h:{path}"), &status);
                let url = url::Url::parse(&request.url).unwrap();
                assert_eq!((url.query(), url.fragment()), (None, None), "{url}");
                assert_eq!(url.as_str(), request.url);
                let segments = url.path_segments().unwrap().count();
                assert_eq!(
                    segments,
                    if kind == ForgeKind::GitLab { 6 } else { 7 },
                    "{url}"
                );
            }
        }
    }

    #[test]
    fn tokens_stand_in_the_header_that_the_forge_reads() {
        let bearer = ("authorization", "Bearer t".to_owned());
        let token = ("authorization", "token t".to_owned());
        assert_eq!(authorization(ForgeKind::GitHub, "t"), bearer);
        assert_eq!(authorization(ForgeKind::Gitea, "t"), token);
        assert_eq!(authorization(ForgeKind::Forgejo, "t"), token);
        assert_eq!(
            authorization(ForgeKind::GitLab, "t"),
            ("private-token", "t".to_owned())
        );
    }

    #[test]
    fn a_status_is_kept_as_json() {
        let mut status = status(StatusState::Cancelled);
        let json = json!({
            "context": "branchyard/ci.yml",
            "state": "cancelled",
            "description": "2 of 3 jobs",
            "target_url": "https://yard.local/p/1",
        });
        assert_eq!(serde_json::to_value(&status).unwrap(), json);
        assert_eq!(
            serde_json::from_value::<CommitStatus>(json).unwrap(),
            status
        );
        status.target_url = None;
        let json = serde_json::to_string(&status).unwrap();
        assert!(!json.contains("target_url"));
        assert_eq!(serde_json::from_str::<CommitStatus>(&json).unwrap(), status);
    }
}
