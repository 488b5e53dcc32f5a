//! What counts of a token whose signature is right.

use super::claims::Claims;
use super::*;
use branchyard_config::Toolset;
use branchyard_model::{BranchName, RepoName, Scope, Scopes};
use serde_json::{Value, json};

const NOW: i64 = 1_800_000_000;

fn rules(more: &str) -> Rules {
    let text = format!(
        "[tenants]\nacme = [\"acme-*\"]\n[roles.ci]\nscopes = [\"repo:read\", \"build:run\"]\n\
         toolsets = [\"build\"]\n[jwt]\nkey_file = \"k\"\nissuer = \"ours\"\naudience = \"yard\"\n{more}"
    );
    let config: AuthConfig = toml::from_str(&text).unwrap();
    Rules::of_jwt(config.jwt.as_ref().unwrap(), &config)
}

/// Claims that count, with these changes; `null` takes one away.
fn claims(changes: Value) -> Claims {
    let mut claims = json!({ "iss": "ours", "aud": "yard", "sub": "alice", "exp": NOW + 100 });
    let all = claims.as_object_mut().unwrap();
    let Value::Object(changes) = changes else {
        panic!("{changes} is no set of claims");
    };
    all.extend(changes);
    Claims::new(all.clone())
}

fn seen_at(changes: Value, seconds: i64) -> Result<Principal, Refusal> {
    let now = Timestamp::from_second(seconds).unwrap();
    rules("").principal(&claims(changes), now)
}

fn seen(changes: Value) -> Result<Principal, Refusal> {
    seen_at(changes, NOW)
}

fn refusal(changes: Value) -> String {
    let problem = seen(changes).unwrap_err().into_problem();
    assert_eq!(problem.code, "unauthorized");
    problem.detail
}

#[test]
fn each_claim_that_is_wrong_is_named() {
    for (changes, reason) in [
        (json!({ "iss": "theirs" }), "is of another issuer"),
        (json!({ "iss": null }), "is of another issuer"),
        (json!({ "iss": ["ours"] }), "ought to be text"),
        (json!({ "aud": "other" }), "is for another audience"),
        (json!({ "aud": null }), "is for another audience"),
        (json!({ "aud": [] }), "is for another audience"),
        (json!({ "aud": "yard.example" }), "is for another audience"),
        (json!({ "exp": null }), "never expires"),
        (json!({ "exp": "1900000000" }), "a time that is none"),
        (json!({ "exp": 1e300 }), "a time that is none"),
        (json!({ "exp": u64::MAX }), "a time that is none"),
        (json!({ "exp": NOW - 3600 }), "has expired"),
        (json!({ "exp": -1 }), "has expired"),
        (json!({ "nbf": NOW + 3600 }), "does not count yet"),
        (json!({ "nbf": "soon" }), "a time that is none"),
        (json!({ "sub": null }), "whose it is"),
        (json!({ "sub": "" }), "whose it is"),
        (json!({ "sub": 7 }), "ought to be text"),
        (json!({ "scope": 7 }), "a list of texts"),
        (json!({ "roles": [7] }), "a list of texts"),
        (json!({ "repos": "app-*" }), "a list of texts"),
        (json!({ "repos": ["["] }), "no glob"),
        (json!({ "branches": ["!main"] }), "no glob"),
        (json!({ "branches": vec!["a"; 101] }), "a list of texts"),
        (json!({ "tid": ["acme"] }), "ought to be text"),
    ] {
        let told = refusal(changes.clone());
        assert!(
            told.starts_with("the token ") && told.contains(reason),
            "{changes}: {told}"
        );
    }
    assert!(seen(json!({ "aud": ["other", "yard"], "nbf": NOW })).is_ok());
}

#[test]
fn clocks_may_differ_by_the_leeway_and_not_by_a_second_more() {
    let exp = json!({ "exp": NOW });
    assert!(seen_at(exp.clone(), NOW + 29).is_ok());
    assert!(seen_at(exp.clone(), NOW + 30).is_err());
    let nbf = json!({ "nbf": NOW, "exp": NOW + 1000 });
    assert!(seen_at(nbf.clone(), NOW - 30).is_ok());
    assert!(seen_at(nbf, NOW - 31).is_err());
    // It is gone when it no longer counts, and not while it does.
    let expires = seen_at(exp, NOW + 29).unwrap().grant().expires.unwrap();
    assert_eq!(expires.as_second(), NOW + 30);
    // Fractions are allowed.
    assert!(seen(json!({ "exp": 1_800_000_000.5 })).is_ok());
}

#[test]
fn names_are_those_of_subjects_that_can_be_shown() {
    let name = |sub: &str| seen(json!({ "sub": sub })).unwrap().name().to_owned();
    assert_eq!(name("alice@example.org"), "jwt:alice@example.org");
    let mut hashed: Vec<_> = ["a b", "a\nb", "å", &"x".repeat(201), "sha256-00"]
        .map(name)
        .into();
    for name in &hashed {
        assert!(
            name.starts_with("jwt:sha256-") && name.len() == 75,
            "{name}"
        );
    }
    hashed.dedup();
    assert_eq!(hashed.len(), 5);
}

#[test]
fn roles_allow_and_scopes_narrow() {
    let rights = |changes: Value| seen(changes).unwrap().rights().to_string();
    assert_eq!(rights(json!({})), "");
    assert_eq!(
        rights(json!({ "scope": "openid git:read repo:read root" })),
        "repo:read git:read"
    );
    assert_eq!(rights(json!({ "scope": ["git:read"] })), "git:read");
    assert_eq!(rights(json!({ "scope": "ADMIN admin2 *" })), "");
    assert_eq!(rights(json!({ "roles": "ci" })), "repo:read build:run");
    assert_eq!(
        rights(json!({ "roles": ["ci", "ui", "king"] })),
        "repo:read build:run git:read"
    );
    assert_eq!(
        rights(json!({ "roles": ["admin"], "scope": "repo:read" })),
        "repo:read"
    );
    assert_eq!(rights(json!({ "roles": ["ui"], "scope": "admin" })), "");
    assert_eq!(
        rights(json!({ "roles": ["ui"], "scope": "openid" })),
        "repo:read git:read"
    );
    assert_eq!(rights(json!({ "roles": ["king"], "scope": "ops" })), "ops");

    let toolsets = |changes: Value| seen(changes).unwrap().grant().toolsets.clone();
    assert_eq!(toolsets(json!({ "roles": ["ci"] })), [Toolset::Build]);
    assert_eq!(toolsets(json!({ "scope": "repo:read" })), Toolset::ALL);

    let now = Timestamp::from_second(NOW).unwrap();
    let rules = rules("default_role = \"ci\"\nscope_claim = \"scp\"\n");
    let rights = |changes: Value| rules.principal(&claims(changes), now).unwrap().rights();
    let ci: Scopes = [Scope::RepoRead, Scope::BuildRun].into_iter().collect();
    assert_eq!(rights(json!({})), ci);
    assert_eq!(
        rights(json!({ "scope": "admin" })),
        ci,
        "that claim is not asked"
    );
    assert_eq!(rights(json!({ "scp": "ops" })).to_string(), "ops");
    assert!(
        rights(json!({ "roles": ["king"] })).is_empty(),
        "somebody, but nobody here"
    );
}

#[test]
fn tenants_and_globs_all_bound_where_a_token_counts() {
    let sees = |changes: Value, repo: &str, branch: &str| {
        let (repo, branch) = (RepoName::parse(repo), BranchName::parse(branch));
        seen(changes)
            .unwrap()
            .sees(&repo.unwrap(), &branch.unwrap())
    };
    assert!(sees(json!({}), "any", "main"));
    let acme = json!({ "tid": "acme" });
    assert!(sees(acme.clone(), "acme-x", "main"));
    assert!(!sees(acme, "other", "main"));
    assert!(!sees(json!({ "tid": "unlisted" }), "acme-x", "main"));
    assert!(!sees(json!({ "tid": "" }), "acme-x", "main"));
    let bound = json!({ "tid": "acme", "repos": ["*-x", "other"], "branches": ["agent-7-*"] });
    assert!(sees(bound.clone(), "acme-x", "agent-7-a"));
    assert!(!sees(bound.clone(), "acme-x", "main"));
    assert!(!sees(bound.clone(), "acme-y", "agent-7-a"));
    assert!(!sees(bound, "other", "agent-7-a"));
    assert!(!sees(json!({ "repos": [] }), "acme-x", "main"));
    assert!(!sees(json!({ "branches": [] }), "acme-x", "main"));
}

#[test]
fn what_is_far_too_long_is_not_even_decoded() {
    let long = format!("e30.{}.AA", "e".repeat(17_000));
    assert_eq!(
        Token::read(&long).unwrap_err(),
        Refusal::Token("is too long")
    );
}
