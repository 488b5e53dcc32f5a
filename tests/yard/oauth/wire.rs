//! What clients see: metadata, challenges, and rights at HTTP and MCP.

use jsonwebtoken::Algorithm;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::issuer::TestIssuer;
use super::pairs::Pair;
use super::{AUDIENCE, claims, tables_of, yard_of};
use crate::support::{Agent, Options, Yard, json_of, problem_of};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
const METADATA_URL: &str = "https://yard.example.org/.well-known/oauth-protected-resource/mcp";

async fn ask(yard: &Yard, method: Method, path: &str, token: Option<&str>) -> Response {
    let request = yard.client.request(method, format!("{}{path}", yard.url));
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().await.unwrap()
}

fn challenge(response: &Response) -> String {
    let challenge = response.headers().get("www-authenticate");
    challenge
        .map_or("", |value| value.to_str().unwrap())
        .to_owned()
}

#[tokio::test]
async fn a_client_finds_its_way_from_a_refusal_to_the_issuer_and_back() {
    let pair = Pair::new(Algorithm::ES256);
    let issuer = TestIssuer::new(&[pair.jwk("one")]).await;
    let mut yard = yard_of(&issuer, "").await;
    let token = |changes: Value| pair.sign("one", &claims(&issuer.url, changes));

    // As an agent begins: refused, told where to look, told whom to ask.
    for (method, path) in [(Method::POST, "/mcp"), (Method::GET, "/api/repos")] {
        let response = ask(&yard, method, path, None).await;
        assert_eq!(response.status(), 401);
        let expected = format!("Bearer realm=\"branchyard\", resource_metadata=\"{METADATA_URL}\"");
        assert_eq!(challenge(&response), expected, "{path}");
    }
    let mut told = Vec::new();
    for path in ["", "/mcp"] {
        let path = format!("{WELL_KNOWN}{path}");
        told.push(json_of(ask(&yard, Method::GET, &path, None).await).await);
    }
    assert_eq!(told[0], told[1]);
    let scopes = [
        "repo:read",
        "build:run",
        "git:read",
        "git:write",
        "code:run",
        "ops",
        "admin",
    ];
    assert_eq!(
        told[0],
        json!({
            "resource": AUDIENCE,
            "authorization_servers": [issuer.url],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Branchyard",
        })
    );
    let elsewhere = ask(&yard, Method::GET, &format!("{WELL_KNOWN}/other"), None).await;
    assert_eq!(problem_of(elsewhere).await.1["code"], "no_oauth");

    // What is wrong with a credential is said, in words that fit between quotes.
    let expired = token(json!({ "exp": 1 }));
    for path in ["/mcp", "/api/repos"] {
        let response = ask(&yard, Method::GET, path, Some(&expired)).await;
        let told = challenge(&response);
        let wrong = "error=\"invalid_token\", error_description=\"the token has expired\"";
        assert!(response.status() == 401 && told.ends_with(wrong), "{told}");
        assert!(told.contains(METADATA_URL), "{told}");
    }
    let unknown = ask(&yard, Method::GET, "/api/repos", Some("nonsense")).await;
    assert!(challenge(&unknown).contains("error=\"invalid_token\""));
    let other_scheme = yard.client.get(format!("{}/api/repos", yard.url));
    let other_scheme = other_scheme.header("authorization", "Basic eA==").send();
    assert!(!challenge(&other_scheme.await.unwrap()).contains("error="));

    // Rights are those of the scopes that are known here.
    let reader = token(json!({ "scope": "openid repo:read" }));
    assert_eq!(
        ask(&yard, Method::GET, "/api/repos", Some(&reader))
            .await
            .status(),
        200
    );
    let response = ask(&yard, Method::GET, "/metrics", Some(&reader)).await;
    let told = challenge(&response);
    assert!(
        told.ends_with("error=\"insufficient_scope\", scope=\"ops\""),
        "{told}"
    );
    let (status, problem) = problem_of(response).await;
    assert_eq!((status, &problem["code"]), (403, &json!("missing_right")));
    let operator = token(json!({ "scope": ["repo:read", "ops"] }));
    assert_eq!(
        ask(&yard, Method::GET, "/metrics", Some(&operator))
            .await
            .status(),
        200
    );
    let by_role = token(json!({ "scope": null, "roles": ["ops"] }));
    assert_eq!(
        ask(&yard, Method::GET, "/metrics", Some(&by_role))
            .await
            .status(),
        200
    );
    for nobody in [json!({ "scope": null }), json!({ "scope": "openid all *" })] {
        let nobody = token(nobody);
        for path in ["/api/repos", "/metrics", "/api/runs", "/api/salvage"] {
            let response = ask(&yard, Method::GET, path, Some(&nobody)).await;
            assert_eq!(response.status(), 403, "{path}");
        }
        let known = json_of(ask(&yard, Method::GET, "/api/whoami", Some(&nobody)).await).await;
        assert_eq!(known["name"], "oauth:alice");
    }

    // The same at MCP.
    let agent = Agent::new(&yard).holding(&reader);
    let listed = agent.call("list", json!({})).await;
    assert!(
        listed["items"].is_array() || listed["repos"].is_array(),
        "{listed}"
    );
    let nobody = Agent::new(&yard).holding(&token(json!({ "scope": null })));
    let refused = nobody.refusal("list", json!({})).await;
    assert!(refused.contains("repo:read"), "{refused}");
    // And sessions and streams of MCP take it with every request.
    let response = ask(&yard, Method::DELETE, "/mcp", Some(&expired)).await;
    assert_eq!(response.status(), 401);
    yard.stop().await;
}

#[tokio::test]
async fn a_tenant_and_globs_bound_what_a_token_sees() {
    let pair = Pair::new(Algorithm::ES256);
    let issuer = TestIssuer::new(&[pair.jwk("one")]).await;
    let tenants = "[auth.tenants]\nours = [\"de*\"]\ntheirs = [\"acme-*\"]";
    let mut yard = Yard::with(Options {
        tables: tables_of(&issuer, tenants),
        ..Options::default()
    })
    .await;
    for (bounds, sees) in [
        (json!({}), true),
        (json!({ "tid": "ours" }), true),
        (json!({ "tid": "theirs" }), false),
        (json!({ "tid": "unlisted" }), false),
        (json!({ "repos": ["demo"] }), true),
        (json!({ "repos": ["other"] }), false),
        (json!({ "tid": "theirs", "repos": ["demo"] }), false),
    ] {
        let token = pair.sign("one", &claims(&issuer.url, bounds.clone()));
        let listed = json_of(ask(&yard, Method::GET, "/api/repos", Some(&token)).await).await;
        assert_eq!(
            listed.to_string().contains("\"demo\""),
            sees,
            "{bounds}: {listed}"
        );
        let response = ask(&yard, Method::GET, "/api/repos/demo", Some(&token)).await;
        let expected = if sees { 200 } else { 404 };
        assert_eq!(response.status(), expected, "{bounds}");
        let agent = Agent::new(&yard).holding(&token);
        let listed = agent.call("list", json!({})).await;
        assert_eq!(
            listed["repos"].as_array().unwrap().len(),
            usize::from(sees),
            "{bounds}"
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_daemon_without_an_issuer_points_nowhere() {
    let mut yard = Yard::with(Options {
        bare: true,
        ..Options::default()
    })
    .await;
    for path in ["", "/mcp"] {
        let response = ask(&yard, Method::GET, &format!("{WELL_KNOWN}{path}"), None).await;
        assert_eq!(problem_of(response).await.1["code"], "no_oauth");
    }
    let response = ask(&yard, Method::GET, "/api/repos", None).await;
    assert_eq!(challenge(&response), "Bearer realm=\"branchyard\"");
    let response = ask(&yard, Method::GET, "/api/repos", Some("a.b.c")).await;
    let told = challenge(&response);
    assert!(
        told.starts_with("Bearer realm=\"branchyard\", error=\"invalid_token\""),
        "{told}"
    );
    yard.stop().await;
}
