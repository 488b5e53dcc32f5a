//! One token, from its making to its end.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{ask_for, delete, get, name_of, refused, secret_of};
use crate::support::{Options, PATIENCE, Yard, json_of, problem_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_made_shown_once_used_and_revoked() {
    let mut yard = Yard::new().await;
    let key = yard.key();
    let request = json!({
        "name": "agent-7", "role": "dev", "repos": ["de*"], "branches": ["agent-7-*"], "expires": "12h",
    });
    let answer = ask_for(&yard, &key, &request).await;
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.headers()["cache-control"], "no-store");
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let made = json_of(answer).await;
    let token = secret_of(&made);
    assert!(token.starts_with(&format!("byt_{}_", made["id"].as_str().unwrap())));
    assert_eq!(made["last_used"], json!(null));

    let me = json_of(get(&yard, &token, "/api/whoami").await).await;
    assert_eq!(
        (&me["name"], &me["role"]),
        (&json!("token:agent-7"), &json!("dev"))
    );
    assert_eq!(
        me["scopes"],
        json!([
            "repo:read",
            "build:run",
            "git:read",
            "git:write",
            "code:run"
        ])
    );
    assert_eq!(
        me["areas"],
        json!([{ "repos": ["de*"], "branches": ["agent-7-*"] }])
    );
    assert_eq!(me["expires"], made["expires"]);
    let (status, problem) = problem_of(get(&yard, &token, "/metrics").await).await;
    assert_eq!((status, &problem["code"]), (403, &json!("missing_right")));

    let listed = yard.get_json("/api/tokens").await;
    let listed = &listed["items"][0];
    assert_eq!(
        (&listed["state"], &listed["created_by"]),
        (&json!("live"), &json!("session"))
    );
    assert!(listed["last_used"].is_string(), "{listed}");
    for path in [location.as_str(), "/api/tokens/agent-7"] {
        assert_eq!(yard.get_json(path).await["id"], made["id"]);
    }
    let (_, secret) = token.rsplit_once('_').unwrap();
    nothing_holds(&yard.workspaces, secret);
    assert!(
        !yard
            .get_json("/api/tokens?all=true")
            .await
            .to_string()
            .contains(secret)
    );

    yard.stop().await;
    nothing_holds(&yard.workspaces, secret);
    yard.start().await;
    assert_eq!(name_of(&yard, &token).await, "token:agent-7");
    let revoked = json_of(yard.delete("/api/tokens/agent-7").await).await;
    assert_eq!(
        (&revoked["state"], &revoked["with_it"]),
        (&json!("revoked"), &json!([]))
    );
    assert_eq!(
        refused(&yard, &token).await,
        "the token agent-7 was revoked"
    );
    json_of(yard.delete("/api/tokens/agent-7").await).await;
    assert_eq!(yard.get_json("/api/tokens").await["items"], json!([]));
    let all = yard.get_json("/api/tokens?all=true").await;
    assert_eq!(
        all["items"][0]["revoked_at"], revoked["revoked_at"],
        "the first time counts"
    );
    let (status, problem) = problem_of(ask_for(&yard, &yard.key(), &request).await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("name_taken")));
    yard.stop().await;
    yard.start().await;
    assert_eq!(
        refused(&yard, &token).await,
        "the token agent-7 was revoked"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_by_itself_and_with_what_the_configuration_says() {
    let mut yard = Yard::asleep(Options {
        tables: "[auth.roles.ci]\nscopes = [\"repo:read\", \"build:run\"]\n".to_owned(),
        bare: true,
        ..Default::default()
    });
    yard.start().await;
    let brief = json!({ "scopes": ["repo:read"], "name": "brief", "expires": "2s" });
    let brief = secret_of(&json_of(ask_for(&yard, &yard.key(), &brief).await).await);
    assert_eq!(get(&yard, &brief, "/api/repos").await.status(), 200);
    let ci = super::make(&yard, &yard.key(), "ci", "ci").await;
    assert_eq!(get(&yard, &ci, "/api/repos").await.status(), 200);
    let expired = async {
        while get(&yard, &brief, "/api/repos").await.status() != 401 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, expired)
        .await
        .expect("it expires");
    assert_eq!(refused(&yard, &brief).await, "the token brief has expired");
    yard.stop().await;
    yard.configure(Options {
        bare: true,
        ..Default::default()
    });
    yard.start().await;
    let (status, problem) = problem_of(get(&yard, &ci, "/api/repos").await).await;
    assert_eq!((status, &problem["code"]), (403, &json!("role_gone")));
    assert!(
        problem["help"]
            .as_str()
            .unwrap()
            .contains("[auth.roles.ci]")
    );
    assert_eq!(yard.get_json("/api/tokens/ci").await["state"], "useless");
    delete(&yard, &yard.key(), "/api/tokens/ci").await;
    assert_eq!(refused(&yard, &ci).await, "the token ci was revoked");
    yard.stop().await;
}

/// No file below `dir` has these bytes.
fn nothing_holds(dir: &Path, secret: &str) {
    let mut pending = vec![PathBuf::from(dir)];
    let mut files = 0;
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                files += 1;
                let bytes = std::fs::read(entry.path()).unwrap_or_default();
                let found = bytes
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes());
                assert!(!found, "{:?} holds the secret", entry.path());
            }
        }
    }
    assert!(files > 2, "something was looked at");
}
