//! Who may do what: every role at every address and with every tool, on branches and repos that its
//! credential is for, and on others.

mod addresses;
mod bounds;
mod protected;
mod tools;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Options, Yard, encode, json_of};

/// The roles there are and one of the operator's own, with their scopes and sets of tools.
const ROLES: [(&str, &[&str], &[&str]); 5] = [
    (
        "dev",
        &[
            "repo:read",
            "build:run",
            "git:read",
            "git:write",
            "code:run",
        ],
        &[
            "yard",
            "build",
            "git_read",
            "git_write",
            "code",
            "pipelines",
        ],
    ),
    (
        "ops",
        &["repo:read", "build:run", "git:read", "ops"],
        &["yard", "build", "git_read", "pipelines", "ops"],
    ),
    (
        "admin",
        &[
            "repo:read",
            "build:run",
            "git:read",
            "git:write",
            "code:run",
            "ops",
            "admin",
        ],
        &[
            "yard",
            "build",
            "git_read",
            "git_write",
            "code",
            "pipelines",
            "ops",
            "admin",
        ],
    ),
    ("ui", &["repo:read", "git:read"], &["yard", "git_read"]),
    ("ci", &["build:run"], &["yard", "build", "admin"]),
];

/// Whoever holds a token.
struct Holder {
    role: &'static str,
    scopes: &'static [&'static str],
    sets: &'static [&'static str],
    /// Whether the token is for some branches of one repo alone.
    is_bounded: bool,
    token: String,
}

/// Where something is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Home,
    /// Another branch of the same repo.
    OtherBranch,
    /// A branch of the same name in another repo.
    OtherRepo,
}

/// What a thing is about, and so where it may be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// Nothing in particular, or oneself.
    Nothing,
    Repo,
    /// A branch, or a run, group or salvage of one.
    Branch,
    AllBranches,
    WholeYard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allowed,
    MissingRight,
    /// As if it were not there.
    Unseen,
    OutOfBounds,
    /// A tool that is not on the holder's list.
    NotOffered,
}

impl Place {
    const ALL: [Self; 3] = [Self::Home, Self::OtherBranch, Self::OtherRepo];

    fn repo(self) -> &'static str {
        match self {
            Self::Home | Self::OtherBranch => "demo",
            Self::OtherRepo => "other",
        }
    }

    fn branch(self) -> &'static str {
        match self {
            Self::Home | Self::OtherRepo => "mine-1",
            Self::OtherBranch => "theirs",
        }
    }

    fn agent(self) -> &'static str {
        match self {
            Self::Home | Self::OtherRepo => "me",
            Self::OtherBranch => "you",
        }
    }
}

impl Holder {
    /// Where to try: for those without bounds all places are alike, which one of them shows.
    fn places(&self) -> &'static [Place] {
        match self.is_bounded || self.role == "admin" {
            true => &Place::ALL,
            false => &[Place::OtherRepo],
        }
    }

    /// What is to come of it, by the rules alone.
    fn expected(&self, right: Option<&str>, about: About, place: Place) -> Verdict {
        if right.is_some_and(|right| !self.scopes.contains(&right)) {
            return Verdict::MissingRight;
        }
        if !self.is_bounded {
            return Verdict::Allowed;
        }
        match (about, place) {
            (About::Nothing, _) | (About::Repo | About::Branch, Place::Home) => Verdict::Allowed,
            (About::Repo, Place::OtherBranch) => Verdict::Allowed,
            (About::WholeYard, _) => Verdict::OutOfBounds,
            (About::AllBranches, Place::Home | Place::OtherBranch) => Verdict::OutOfBounds,
            _ => Verdict::Unseen,
        }
    }
}

/// What there is at a place, made by the operator.
struct There {
    run: String,
    group: String,
    pipeline: String,
    salvage: String,
}

/// A job that leaves an artifact behind.
const WORKFLOW: &str = "\
on: workflow_dispatch
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/upload-artifact@v4
        with: {name: log, path: name.txt}
";

/// A yard with two repos, a branch of one's own and one of others', and a holder of each role, with and
/// without bounds.
async fn cast() -> (Yard, Vec<Holder>) {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.workflow("ci.yml", WORKFLOW);
    for branch in ["mine-1", "theirs"] {
        yard.origin.branch(branch);
    }
    let tables = format!(
        "[auth.roles.ci]\nscopes = [\"build:run\"]\ntoolsets = [\"yard\", \"build\", \"admin\"]\n\
         [code]\nwithout_sandbox = true\n[repos.other]\nurl = {:?}\n",
        yard.origin.url()
    );
    yard.configure(Options {
        tables,
        ..Options::default()
    });
    yard.start().await;
    let mut holders = Vec::new();
    for (role, scopes, sets) in ROLES {
        for is_bounded in [true, false] {
            let mut asked = json!({ "role": role, "expires": "1h" });
            if is_bounded {
                asked["repos"] = json!(["demo"]);
                asked["branches"] = json!(["mine-*", "agent-me-*"]);
            }
            holders.push(Holder {
                role,
                scopes,
                sets,
                is_bounded,
                token: yard.token(asked).await,
            });
        }
    }
    (yard, holders)
}

impl There {
    async fn at(yard: &Yard, place: Place) -> Self {
        let (repo, branch) = (place.repo(), place.branch());
        let make = format!("/stream/repos/{repo}/branches/{branch}/make");
        let run = started(yard, &make, json!({})).await;
        let group = format!("/stream/repos/{repo}/make");
        let group = started(yard, &group, json!({ "branches": [branch] })).await;
        yard.ended(run["run_id"].as_str().unwrap()).await;
        let group = group["group_id"].as_str().unwrap();
        yard.get_json(&format!("/api/groups/{group}?wait=50s"))
            .await;
        let pipelines = format!("/api/repos/{repo}/pipelines");
        let pipeline = yard
            .post_json(&pipelines, json!({ "branch": branch }))
            .await;
        let path = format!(
            "/api/pipelines/{}?wait=50s",
            pipeline["pipeline_id"].as_str().unwrap()
        );
        assert_eq!(yard.get_json(&path).await["state"], "succeeded");
        Self {
            run: run["run_id"].as_str().unwrap().to_owned(),
            group: group.to_owned(),
            pipeline: pipeline["pipeline_id"].as_str().unwrap().to_owned(),
            salvage: saved(yard, place).await,
        }
    }

    /// A text with the names of what is here.
    fn fill(&self, text: &str, place: Place) -> String {
        [
            ("{repo}", place.repo()),
            ("{branch}", place.branch()),
            ("{agent}", place.agent()),
            ("{run}", &self.run),
            ("{group}", &self.group),
            ("{pipeline}", &self.pipeline),
            ("{job}", "build"),
            ("{name}", "log"),
            ("{salvage}", &self.salvage),
            ("{delivery}", "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b"),
        ]
        .into_iter()
        .fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, value)
        })
    }
}

async fn started(yard: &Yard, path: &str, body: Value) -> Value {
    let request = yard
        .request(Method::POST, path)
        .header("prefer", "respond-async")
        .json(&body);
    json_of(request.send().await.unwrap()).await
}

/// Has something saved of the branch; the id under which it was.
async fn saved(yard: &Yard, place: Place) -> String {
    let (repo, branch) = (place.repo(), place.branch());
    let path = format!("/api/repos/{repo}/branches/{}", encode(branch));
    let there = json_of(yard.put(&path, json!({})).await).await;
    let file = std::path::Path::new(there["path"].as_str().unwrap()).join("note.txt");
    std::fs::write(file, "of value\n").unwrap();
    let gone = json_of(yard.delete(&format!("{path}?force=true")).await).await;
    gone["salvage"]["id"].as_str().unwrap().to_owned()
}
