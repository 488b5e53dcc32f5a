//! Protected branches: those that the operator names, those that a secret is for, and the default branch. Without the
//! right admin they are built and read, and nothing else.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard, encode, git, problem_of};

const DEFAULT: &str = "trunk";
const OF_A_SECRET: &str = "deploy/1";
const OF_THE_OPERATOR: &str = "frozen/1";
const OWN: &str = "topic/x";

/// A yard whose remote's default branch has a name that no list of usual names holds.
async fn yard() -> Yard {
    let mut yard = Yard::asleep(Options::default());
    for branch in [DEFAULT, OF_A_SECRET, OF_THE_OPERATOR, OWN] {
        yard.origin.push(branch);
    }
    git(
        &yard.origin.bare,
        &["symbolic-ref", "HEAD", "refs/heads/trunk"],
    );
    let file = yard.dir.path().join("token");
    std::fs::write(&file, "t0ken-of-the-yard").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    yard.configure(Options {
        git: "protected = [\"frozen/*\"]".to_owned(),
        tables: format!(
            "[secrets.token]\nfile = {file:?}\nbranches = [\"deploy/*\", \"agent-deploy-*\"]\n\
             [secrets.elsewhere]\nfile = {file:?}\nbranches = [\"**\"]\n\
             [code]\nwithout_sandbox = true\n"
        ),
        repo: "[repos.demo.secrets]\nmake = { TOKEN = \"token\" }\n".to_owned(),
        ..Options::default()
    });
    yard.start().await;
    yard
}

struct Dev<'a> {
    yard: &'a Yard,
    token: String,
}

impl Dev<'_> {
    async fn ask(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = self
            .yard
            .client
            .request(method, format!("{}{path}", self.yard.url));
        let request = request.bearer_auth(&self.token).json(body);
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }
}

/// Whatever changes a branch's workspace, its index or its HEAD, or what the remote has of it.
fn changes(branch: &str) -> Vec<(Method, String, Value)> {
    let at = |rest: &str| format!("/api/repos/demo/branches/{}{rest}", encode(branch));
    let mut all: Vec<_> = [
        ("add", json!({"all": true})),
        ("commit", json!({"message": "x", "allow_empty": true})),
        ("reset", json!({"mode": "soft", "to": "HEAD"})),
        ("clean", json!({"dry_run": false, "confirm": true})),
        (
            "checkout",
            json!({"paths": ["name.txt"], "from": "HEAD", "confirm": true}),
        ),
        ("stash", json!({"action": "push"})),
        ("submodule", json!({"action": "sync"})),
        ("merge", json!({"from": "origin/main"})),
        ("rebase", json!({"onto": "origin/main"})),
        ("cherry_pick", json!({"commits": ["origin/main"]})),
        ("revert", json!({"commits": ["HEAD"]})),
        ("pull", json!({})),
        ("push", json!({"force": false})),
    ]
    .into_iter()
    .map(|(verb, body)| (Method::POST, at(&format!("/git/{verb}")), body))
    .collect();
    for (operation, args) in [
        ("add", json!(["-A"])),
        ("commit", json!(["--allow-empty", "-m", "x"])),
        ("restore", json!(["--", "name.txt"])),
        ("checkout", json!(["origin/main", "--", "name.txt"])),
        ("reset", json!(["--soft", "HEAD"])),
        ("merge", json!(["origin/main"])),
        ("rebase", json!(["origin/main"])),
        ("cherry-pick", json!(["origin/main"])),
        ("revert", json!(["HEAD"])),
        ("rm", json!(["--cached", "name.txt"])),
        ("mv", json!(["name.txt", "x"])),
        ("pull", json!([])),
        ("push", json!([])),
    ] {
        let path = format!("/stream/repos/demo/branches/{}/git", encode(branch));
        let body = json!({"operation": operation, "args": args});
        all.push((Method::POST, path, body));
    }
    for (verb, body) in [
        ("write_file", json!({"path": "x", "content": ""})),
        (
            "edit_file",
            json!({"path": "name.txt", "edits": [{"old": "yard", "new": "x"}]}),
        ),
        (
            "apply_patch",
            json!({"patch": "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n"}),
        ),
        ("move_file", json!({"from": "name.txt", "to": "x"})),
        ("delete_file", json!({"path": "name.txt"})),
    ] {
        all.push((Method::POST, at(&format!("/{verb}")), body));
    }
    let path = format!("/stream/repos/demo/branches/{}/exec", encode(branch));
    all.push((Method::POST, path, json!({"argv": ["true"]})));
    all.push((Method::DELETE, at(""), json!({})));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn without_admin_a_protected_branch_is_built_and_read_and_nothing_else() {
    let mut yard = yard().await;
    let token = yard.token(json!({"role": "dev", "expires": "1h"})).await;
    let dev = Dev { yard: &yard, token };
    // The very first request: nothing is cloned, and the remote was asked for nothing yet.
    let commit = format!("/api/repos/demo/branches/{DEFAULT}/git/commit");
    let (status, problem) = dev
        .ask(Method::POST, &commit, &json!({"message": "x"}))
        .await;
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("protected_branch"))
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("without the right admin"), "{detail}");
    for branch in [DEFAULT, OF_A_SECRET, OF_THE_OPERATOR] {
        for (method, path, body) in changes(branch) {
            let (status, problem) = dev.ask(method, &path, &body).await;
            let code = &problem["code"];
            assert_eq!(
                (status, code),
                (403, &json!("protected_branch")),
                "{path} {body}: {problem}"
            );
        }
        let path = format!("/api/repos/demo/branches/{}", encode(branch));
        let (status, told) = dev.ask(Method::PUT, &path, &json!({})).await;
        assert!(status < 300, "{told}");
        let (status, told) = dev
            .ask(Method::POST, &format!("{path}/git/status"), &json!({}))
            .await;
        assert_eq!(status, 200, "{told}");
        let (status, _) = dev
            .ask(Method::POST, &format!("{path}/git/fetch"), &json!({}))
            .await;
        assert_eq!(status, 200, "{branch}");
        let make = format!("/stream/repos/demo/branches/{}/make", encode(branch));
        let (status, _) = dev
            .ask(Method::POST, &make, &json!({"args": ["who"]}))
            .await;
        assert_eq!(status, 200, "{branch}");
    }
    for (method, path, body) in changes(OWN) {
        let (_, told) = dev.ask(method, &path, &body).await;
        assert_ne!(told["code"], "protected_branch", "{path} {body}: {told}");
    }
    let sets = [("branchyard-toolsets", "git_write")];
    let agent = Agent::with(&yard, &sets).holding(&dev.token);
    let asked = json!({"repo": "demo", "branch": DEFAULT, "message": "x"});
    let refusal = agent.refusal("git_commit", asked).await;
    assert!(refusal.starts_with("protected_branch"), "{refusal}");
    // The session key goes on.
    let empty = json!({"message": "x", "allow_empty": true});
    yard.verb(DEFAULT, "commit", empty).await;
    yard.verb(
        OF_A_SECRET,
        "commit",
        json!({"message": "x", "allow_empty": true}),
    )
    .await;
    let told = yard.verb(OWN, "remote", json!({})).await;
    assert_eq!(
        told["protected"],
        json!(["frozen/*", "deploy/*", "agent-deploy-*", "trunk"])
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_admin_no_branch_of_a_protected_name_comes_into_being() {
    let mut yard = yard().await;
    let token = yard.token(json!({"role": "dev", "expires": "1h"})).await;
    let dev = Dev { yard: &yard, token };
    let at_own = format!("/api/repos/demo/branches/{}", encode(OWN));
    std::fs::create_dir_all(yard.workspace(OWN).parent().unwrap()).unwrap();
    let (status, told) = dev.ask(Method::PUT, &at_own, &json!({})).await;
    assert!(status < 300, "{told}");
    std::fs::write(yard.workspace(OWN).join("note.txt"), "work\n").unwrap();
    let clean = json!({"sync": "reset", "clean": true, "args": ["who"]});
    yard.run("make", OWN, clean).await;
    let salvage = yard.salvages(OWN).await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for name in ["deploy/new", "frozen/new"] {
        let put = format!("/api/repos/demo/branches/{}", encode(name));
        let create = json!({"action": "create", "name": name, "from": OWN});
        let rename = json!({"action": "rename", "name": OWN, "new_name": name});
        for (method, path, body) in [
            (Method::PUT, put, json!({"from": OWN})),
            (Method::POST, format!("{at_own}/git/branch"), create),
            (Method::POST, format!("{at_own}/git/branch"), rename),
            (
                Method::POST,
                format!("/api/salvage/{salvage}/restore"),
                json!({"branch": name}),
            ),
        ] {
            let (status, problem) = dev.ask(method, &path, &body).await;
            let code = &problem["code"];
            assert_eq!(
                (status, code),
                (403, &json!("protected_branch")),
                "{path} {body}: {problem}"
            );
        }
        assert!(!yard.workspace(name).exists());
    }
    let clone = |agent: &str| json!({"repo": "demo", "agent_id": agent, "task_id": "t"});
    let (status, problem) = dev
        .ask(Method::POST, "/api/git/clone", &clone("deploy"))
        .await;
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("protected_branch")),
        "{problem}"
    );
    let (status, told) = dev.ask(Method::POST, "/api/git/clone", &clone("me")).await;
    assert!(status < 300, "{told}");
    let create = json!({"action": "create", "name": "topic/y", "from": DEFAULT});
    let (status, told) = dev
        .ask(Method::POST, &format!("{at_own}/git/branch"), &create)
        .await;
    assert!(status < 300, "{told}");
    // What is not theirs to see is not there, protected or not.
    let bounded = json!({"role": "dev", "branches": ["topic/**"], "expires": "1h"});
    let dev = Dev {
        yard: &yard,
        token: yard.token(bounded).await,
    };
    let put = format!("/api/repos/demo/branches/{}", encode("deploy/new"));
    let (status, _) = dev.ask(Method::PUT, &put, &json!({"from": OWN})).await;
    assert_eq!(status, 404);
    let made = yard.put(&put, json!({"from": OWN})).await;
    assert!(made.status().is_success(), "{:?}", problem_of(made).await);
    yard.stop().await;
}
