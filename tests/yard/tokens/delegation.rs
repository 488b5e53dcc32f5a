//! A token is made for less, and is over with what it was made with.

use serde_json::{Value, json};

use super::{ask_for, delete, get, make, name_of, names, refused, secret_of};
use crate::support::{Agent, Options, Yard, json_of, problem_of};

async fn bare() -> Yard {
    let options = Options {
        bare: true,
        ..Options::default()
    };
    Yard::with(options).await
}

async fn refusal(yard: &Yard, maker: &str, request: Value) -> (u16, Value) {
    problem_of(ask_for(yard, maker, &request).await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gives_what_they_do_not_have() {
    let mut yard = bare().await;
    let request = json!({
        "role": "dev", "name": "dev", "repos": ["app-*"], "toolsets": ["yard", "build"], "expires": "1h",
    });
    let dev = secret_of(&json_of(ask_for(&yard, &yard.key(), &request).await).await);
    for (field, request) in [
        ("scopes", json!({ "role": "admin" })),
        ("scopes", json!({ "role": "ops" })),
        ("scopes", json!({ "scopes": ["repo:read", "ops"] })),
        (
            "toolsets",
            json!({ "role": "dev", "toolsets": ["yard", "code"] }),
        ),
        ("expires", json!({ "role": "dev", "expires": "2h" })),
        ("expires", json!({ "role": "dev", "expires": "never" })),
        (
            "expires",
            json!({ "role": "dev", "expires": "2034-01-01T00:00:00Z" }),
        ),
    ] {
        let (status, problem) = refusal(&yard, &dev, request.clone()).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("wider_than_own")),
            "{request}"
        );
        assert_eq!(problem["field"], field, "{request}");
    }
    let (_, problem) = refusal(&yard, &dev, json!({ "role": "ops" })).await;
    assert!(
        problem["detail"].as_str().unwrap().contains("scopes ops "),
        "{problem}"
    );
    for request in [
        json!({}),
        json!({ "role": "dev", "scopes": ["repo:read"] }),
        json!({ "role": "king" }),
        json!({ "scopes": [] }),
        json!({ "scopes": ["repo:write"] }),
        json!({ "role": "dev", "repos": [] }),
        json!({ "role": "dev", "branches": ["[a"] }),
        json!({ "role": "dev", "expires": "0s" }),
        json!({ "role": "dev", "expires": "soon" }),
        json!({ "role": "dev", "name": "a b" }),
        json!({ "role": "dev", "areas": [] }),
    ] {
        let (status, _) = refusal(&yard, &dev, request.clone()).await;
        assert_eq!(status, 422, "{request}");
    }
    // All globs have to agree, and nothing outlives what it was made with.
    let inner = json!({ "role": "dev", "repos": ["**"], "branches": ["agent-*"] });
    let inner = json_of(ask_for(&yard, &dev, &inner).await).await;
    let outer = yard.get_json("/api/tokens/dev").await;
    assert_eq!(inner["areas"].as_array().unwrap().len(), 2);
    assert_eq!(inner["areas"][0], outer["areas"][0]);
    assert_eq!(inner["expires"], outer["expires"]);
    assert_eq!(inner["toolsets"], json!(["yard", "build"]));
    assert_eq!(
        names(&yard, &yard.key()).await.len(),
        2,
        "nothing was made of what was refused"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_sees_and_revokes_what_is_of_their_making() {
    let mut yard = bare().await;
    let key = yard.key();
    let (one, two) = (
        make(&yard, &key, "dev", "one").await,
        make(&yard, &key, "dev", "two").await,
    );
    let child = make(&yard, &one, "ui", "child").await;
    let grandchild = make(&yard, &child, "ui", "grandchild").await;
    let admin = make(&yard, &key, "admin", "admin").await;
    assert_eq!(names(&yard, &one).await, ["one", "child", "grandchild"]);
    assert_eq!(names(&yard, &two).await, ["two"]);
    assert_eq!(names(&yard, &admin).await.len(), 5);
    let foreign = format!(
        "/api/tokens/{}",
        yard.get_json("/api/tokens/child").await["id"]
            .as_str()
            .unwrap()
    );
    for path in [
        "/api/tokens/one",
        "/api/tokens/child",
        "/api/tokens/nobody",
        &foreign,
    ] {
        for answer in [
            get(&yard, &two, path).await,
            delete(&yard, &two, path).await,
        ] {
            let (status, problem) = problem_of(answer).await;
            assert_eq!(
                (status, &problem["code"]),
                (404, &json!("token_not_found")),
                "{path}"
            );
        }
    }
    // Not upwards either.
    assert_eq!(
        delete(&yard, &grandchild, "/api/tokens/child")
            .await
            .status(),
        404
    );

    let revoked = json_of(delete(&yard, &admin, "/api/tokens/one").await).await;
    assert_eq!(revoked["with_it"], json!(["child", "grandchild"]));
    for (token, name) in [
        (&one, "one"),
        (&child, "child"),
        (&grandchild, "grandchild"),
    ] {
        assert_eq!(
            refused(&yard, token).await,
            format!("the token {name} was revoked")
        );
    }
    assert_eq!(name_of(&yard, &two).await, "token:two");
    json_of(delete(&yard, &two, "/api/tokens/two").await).await;
    refused(&yard, &two).await;
    yard.stop().await;
    yard.start().await;
    refused(&yard, &grandchild).await;
    assert_eq!(name_of(&yard, &admin).await, "token:admin");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_makes_tokens_for_those_it_starts() {
    let mut yard = bare().await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "yard,admin")]);
    let me = agent.call("whoami", json!({})).await;
    assert_eq!(
        (&me["name"], &me["expires"]),
        (&json!("session"), &json!(null))
    );
    let request =
        json!({ "role": "dev", "branches": ["agent-7-*"], "expires": "1h", "name": "seven" });
    let made = agent.tool("token_create", request).await;
    let token = secret_of(&made["structuredContent"]);
    assert_eq!(name_of(&yard, &token).await, "token:seven");
    let wrong = agent
        .refusal("token_create", json!({ "role": "king" }))
        .await;
    assert!(wrong.contains("dev, ops, ui"), "{wrong}");
    let listed = agent.call("token_list", json!({})).await;
    assert_eq!(listed["items"][0]["name"], "seven");
    assert!(!listed.to_string().contains("byt_"));
    let revoked = agent
        .call("token_revoke", json!({ "token": "seven" }))
        .await;
    assert_eq!(revoked["state"], "revoked");
    refused(&yard, &token).await;
    yard.stop().await;
}
