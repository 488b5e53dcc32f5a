//! Other CIs that call Branchyard: their files are read, and their scripts are run with what the forge would give to them.

use serde_json::{Value, json};

use super::{RECIPES, YARD, block, green_and_red, sh};
use crate::after::script;
use crate::support::{Options, Yard};

/// A script as a CI would run it.
struct Job {
    script: String,
    env: Vec<(String, String)>,
}

/// What a forge knows of a push.
struct Push<'a> {
    branch: &'a str,
    commit: &'a str,
    token: &'a str,
}

impl Push<'_> {
    /// The value of a variable as a CI file writes it.
    fn value(&self, written: &Value) -> String {
        if *written == json!({ "from_secret": "branchyard_token" }) {
            return self.token.to_owned();
        }
        let text = written.as_str().expect("a text");
        let value = match text {
            "${{ secrets.BRANCHYARD_TOKEN }}" => self.token,
            "${{ github.ref_name }}" | "${{ gitea.ref_name }}" => self.branch,
            "${{ github.sha }}" | "${{ gitea.sha }}" => self.commit,
            plain => plain,
        };
        assert!(!value.contains("${{"), "who knows {value}?");
        value.to_owned()
    }

    /// The job in the page's file `name`, for a daemon at `url`.
    fn job(&self, name: &str, url: &str) -> Job {
        let text = block(RECIPES, &format!("`{name}`")).replace(YARD, url);
        let file: Value = serde_saphyr::from_str(&text).unwrap();
        let (scripts, variables) = match name {
            ".gitlab-ci.yml" => {
                let job = &file["branchyard"];
                let before = job["before_script"].as_array().unwrap().iter();
                let scripts = before.chain(job["script"].as_array().unwrap());
                (scripts.cloned().collect(), job["variables"].clone())
            }
            ".woodpecker.yml" => {
                let step = &file["steps"][0];
                let scripts = step["commands"].as_array().unwrap().clone();
                (scripts, step["environment"].clone())
            }
            _ => {
                let step = &file["jobs"]["branchyard"]["steps"][0];
                (vec![step["run"].clone()], step["env"].clone())
            }
        };
        let scripts: Vec<_> = scripts.iter().map(|it| it.as_str().unwrap()).collect();
        let variables = variables.as_object().unwrap().iter();
        let of_forge = [
            ("BRANCHYARD_TOKEN", self.token),
            ("CI_COMMIT_BRANCH", self.branch),
            ("CI_COMMIT_SHA", self.commit),
        ];
        let of_forge = of_forge.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Job {
            script: scripts.join("\n"),
            env: of_forge
                .into_iter()
                .chain(variables.map(|(name, value)| (name.clone(), self.value(value))))
                .collect(),
        }
    }
}

async fn token(yard: &Yard) -> String {
    let asked = json!({
        "scopes": ["repo:read", "build:run"], "repos": ["demo"], "name": "ci", "expires": "90d",
    });
    yard.token(asked).await
}

async fn follows_the_build(name: &str) {
    let mut yard = Yard::asleep(Options::default());
    green_and_red(&yard);
    let hostile = "x\"$(touch${IFS}pwned)";
    yard.origin.at("main");
    let good = yard.origin.head();
    yard.origin.push(hostile);
    yard.origin.at("origin/red");
    let bad = yard.origin.head();
    yard.start().await;
    let token = token(&yard).await;
    // The images that the pages name are others than this machine.
    script(&yard, "apk", "#!/bin/sh\n");
    for (branch, commit, is_good) in [
        ("main", &good, true),
        ("red", &bad, false),
        (hostile, &good, true),
    ] {
        let token = &token;
        let push = Push {
            branch,
            commit,
            token,
        };
        let job = push.job(name, &yard.url);
        let output = sh(yard.dir.path(), &job.script, &job.env).await;
        assert_eq!(output.status.success(), is_good, "{branch}: {output:?}");
        let page = yard.get_json("/api/repos/demo/pipelines?limit=1").await;
        let pipeline = &page["items"][0];
        assert_eq!(
            (&pipeline["branch"], &pipeline["commit"]),
            (&json!(branch), &json!(commit))
        );
        let said = String::from_utf8(output.stdout).unwrap();
        let state = if is_good { "" } else { "test: failed" };
        assert!(said.contains(state), "{said}");
    }
    assert!(!yard.dir.path().join("pwned").exists());
    let wrong = Push {
        branch: "main",
        commit: &good,
        token: "byt_wrong",
    };
    let job = wrong.job(name, &yard.url);
    let output = sh(yard.dir.path(), &job.script, &job.env).await;
    assert!(!output.status.success(), "{output:?}");
    yard.stop().await;
}

#[tokio::test]
async fn github_actions() {
    follows_the_build(".github/workflows/branchyard.yml").await;
}

#[tokio::test]
async fn gitlab_ci() {
    follows_the_build(".gitlab-ci.yml").await;
}

#[tokio::test]
async fn woodpecker() {
    follows_the_build(".woodpecker.yml").await;
}

#[tokio::test]
async fn gitea_actions() {
    follows_the_build(".gitea/workflows/branchyard.yml").await;
}

#[tokio::test]
async fn a_make_run_without_a_workflow_file() {
    let mut yard = Yard::asleep(Options::default());
    green_and_red(&yard);
    yard.start().await;
    let token = token(&yard).await;
    let text = block(RECIPES, "### Without a workflow file");
    for (branch, is_good) in [("main", true), ("red", false)] {
        let env = [
            ("BRANCHYARD_URL", &*yard.url),
            ("BRANCHYARD_TOKEN", &token),
            ("BRANCH", branch),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let output = sh(yard.dir.path(), text, &env).await;
        assert_eq!(output.status.success(), is_good, "{branch}: {output:?}");
    }
    yard.stop().await;
}
