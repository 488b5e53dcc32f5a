//! Logging in to the page: the cookie, what it is good for, what it is not, and links that are good once.

use reqwest::{Method, RequestBuilder, Response, redirect};
use serde_json::{Value, json};

use crate::support::{Options, Yard, json_of, problem_of};

/// A browser's view: no credential but the cookie.
fn ask(yard: &Yard, method: Method, path: &str, cookie: Option<&str>) -> RequestBuilder {
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .build()
        .unwrap();
    let request = client.request(method, format!("{}{path}", yard.url));
    match cookie {
        Some(cookie) => request.header("cookie", cookie),
        None => request,
    }
}

async fn who(yard: &Yard, cookie: Option<&str>) -> Value {
    let answer = ask(yard, Method::GET, "/api/session", cookie);
    json_of(answer.send().await.unwrap()).await["principal"].clone()
}

/// Name and value, and what the browser is told of it.
fn cookie_of(answer: &Response) -> (String, String) {
    let set = answer.headers()["set-cookie"].to_str().unwrap();
    let (cookie, rules) = set.split_once("; ").unwrap();
    (cookie.to_owned(), rules.to_owned())
}

async fn log_in(yard: &Yard, key: &str) -> Response {
    let request = ask(yard, Method::POST, "/api/session", None);
    request.bearer_auth(key).send().await.unwrap()
}

#[tokio::test]
async fn a_key_becomes_a_cookie_that_scripts_cannot_read_and_other_sites_cannot_send() {
    let mut yard = Yard::new().await;
    assert_eq!(who(&yard, None).await, Value::Null);
    let answer = log_in(&yard, &yard.key()).await;
    let (cookie, rules) = cookie_of(&answer);
    assert!(!cookie.contains(&yard.key()), "the key itself stays out");
    for rule in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(rules.split("; ").any(|told| told == rule), "{rules}");
    }
    assert_eq!(json_of(answer).await["principal"]["name"], "session");
    let seen = who(&yard, Some(&cookie)).await;
    assert!(seen["scopes"].as_array().unwrap().contains(&json!("admin")));
    let name = seen["name"].as_str().unwrap();
    assert!(name.starts_with("token:page-"), "{name} says what it is");
    let repos = ask(&yard, Method::GET, "/api/repos", Some(&cookie));
    assert_eq!(repos.send().await.unwrap().status(), 200);
    yard.stop().await;
}

#[tokio::test]
async fn what_changes_something_has_to_come_from_the_page_itself() {
    let mut yard = Yard::new().await;
    let (cookie, _) = cookie_of(&log_in(&yard, &yard.key()).await);
    let path = "/api/repos/demo/branches/main";
    let forged = ask(&yard, Method::PUT, path, Some(&cookie)).json(&json!({}));
    let (status, problem) = problem_of(forged.send().await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (403, &json!("csrf")));
    assert!(!yard.workspace("main").exists());
    let own = ask(&yard, Method::PUT, path, Some(&cookie)).json(&json!({}));
    let own = own.header("branchyard-page", "1");
    assert_eq!(own.send().await.unwrap().status(), 200);
    // A page of another origin cannot, whatever it adds.
    let foreign = ask(&yard, Method::PUT, path, Some(&cookie)).json(&json!({}));
    let foreign = foreign
        .header("branchyard-page", "1")
        .header("origin", "http://localhost:1");
    let (status, problem) = problem_of(foreign.send().await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (403, &json!("foreign_origin")));
    yard.stop().await;
}

#[tokio::test]
async fn a_session_survives_the_daemon_and_ends_with_the_log_out() {
    let mut yard = Yard::new().await;
    let (cookie, _) = cookie_of(&log_in(&yard, &yard.key()).await);
    let port = yard.url.rsplit_once(':').unwrap().1.to_owned();
    yard.stop().await;
    yard.start().await;
    // It is another port now, by which the cookie is named.
    let new_port = yard.url.rsplit_once(':').unwrap().1;
    let cookie = cookie.replace(&port, new_port);
    assert!(who(&yard, Some(&cookie)).await.is_object());
    let out = ask(&yard, Method::DELETE, "/api/session", Some(&cookie));
    let out = out.header("branchyard-page", "1").send().await.unwrap();
    assert_eq!(out.status(), 204);
    assert!(cookie_of(&out).1.contains("Max-Age=0"));
    assert_eq!(who(&yard, Some(&cookie)).await, Value::Null);
    let repos = ask(&yard, Method::GET, "/api/repos", Some(&cookie));
    assert_eq!(repos.send().await.unwrap().status(), 401);
    yard.stop().await;
}

#[tokio::test]
async fn a_session_is_good_for_no_more_than_the_token_and_ends_with_it() {
    let mut yard = Yard::new().await;
    let asked = json!({ "role": "ui", "name": "wall", "repos": ["demo"], "expires": "1h" });
    let token = yard.token(asked).await;
    let (cookie, rules) = cookie_of(&log_in(&yard, &token).await);
    let lasts = rules
        .split("; ")
        .find_map(|rule| rule.strip_prefix("Max-Age="));
    assert!(lasts.unwrap().parse::<u64>().unwrap() <= 3600, "{rules}");
    let seen = who(&yard, Some(&cookie)).await;
    assert_eq!(seen["scopes"], json!(["repo:read", "git:read"]));
    assert_eq!(seen["areas"][0]["repos"], json!(["demo"]));
    let make = "/stream/repos/demo/branches/main/make";
    let build = ask(&yard, Method::POST, make, Some(&cookie)).json(&json!({}));
    let build = build.header("branchyard-page", "1").send().await.unwrap();
    assert_eq!(problem_of(build).await.1["code"], "missing_right");
    yard.delete("/api/tokens/wall").await;
    assert_eq!(who(&yard, Some(&cookie)).await, Value::Null);
    yard.stop().await;
}

#[tokio::test]
async fn what_a_person_does_on_the_page_is_credited_to_them() {
    let mut yard = Yard::new().await;
    let open = |key: String, body: Value| {
        let request = ask(&yard, Method::POST, "/api/session", None);
        request.bearer_auth(key).json(&body).send()
    };
    let named = open(yard.key(), json!({ "name": "ada" })).await.unwrap();
    let (ada, _) = cookie_of(&named);
    let token = yard
        .token(json!({ "role": "ui", "name": "wall", "expires": "1h" }))
        .await;
    let (wall, _) = cookie_of(&log_in(&yard, &token).await);
    let (unknown, _) = cookie_of(&log_in(&yard, &yard.key()).await);
    let listed = yard.get_json("/api/tokens").await;
    for (cookie, person) in [
        (&ada, json!("ada")),
        (&wall, json!("wall")),
        (&unknown, Value::Null),
    ] {
        let name = who(&yard, Some(cookie)).await["name"].clone();
        let name = name.as_str().unwrap().strip_prefix("token:").unwrap();
        let token = listed["items"].as_array().unwrap().iter();
        let token = token
            .into_iter()
            .find(|token| token["name"] == name)
            .unwrap();
        assert_eq!(
            (&token["session"], &token["person"]),
            (&json!(true), &person)
        );
        let called = person
            .as_str()
            .map_or("page-".to_owned(), |person| format!("page-{person}-"));
        assert!(name.starts_with(&called), "{name}");
    }
    let wall = listed["items"].as_array().unwrap().iter();
    let wall = wall
        .into_iter()
        .find(|token| token["name"] == "wall")
        .unwrap();
    assert_eq!(wall["session"], false);
    let bad = open(yard.key(), json!({ "name": "Ada Lovelace" }))
        .await
        .unwrap();
    let (status, problem) = problem_of(bad).await;
    assert_eq!((status, &problem["field"]), (422, &json!("name")));
    yard.stop().await;
}

#[tokio::test]
async fn a_link_logs_in_once() {
    let mut yard = Yard::new().await;
    let made = yard.post_json("/api/session/ticket", json!({})).await;
    let path = made["path"].as_str().unwrap();
    let opened = ask(&yard, Method::GET, path, None).send().await.unwrap();
    assert_eq!(opened.status(), 303);
    assert_eq!(opened.headers()["location"], "../");
    let (cookie, _) = cookie_of(&opened);
    assert!(who(&yard, Some(&cookie)).await.is_object());
    let again = ask(&yard, Method::GET, path, None).send().await.unwrap();
    let (status, problem) = problem_of(again).await;
    assert_eq!((status, &problem["code"]), (401, &json!("ticket_used")));
    yard.stop().await;
}

#[tokio::test]
async fn a_link_is_not_used_up_by_those_who_look_at_it_before() {
    let mut yard = Yard::new().await;
    let made = yard.post_json("/api/session/ticket", json!({})).await;
    let path = made["path"].as_str().unwrap();
    for path in [path, "/open/guessed"] {
        let looked = ask(&yard, Method::HEAD, path, None).send().await.unwrap();
        assert_eq!(looked.status(), 200);
        assert!(!looked.headers().contains_key("set-cookie"));
    }
    for (name, value) in [
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
        ("x-moz", "prefetch"),
        ("x-purpose", "preview"),
        ("sec-fetch-dest", "image"),
        ("sec-fetch-mode", "no-cors"),
    ] {
        let ahead = ask(&yard, Method::GET, path, None).header(name, value);
        let (status, problem) = problem_of(ahead.send().await.unwrap()).await;
        assert_eq!((status, &problem["code"]), (403, &json!("not_a_visit")));
    }
    let visit = ask(&yard, Method::GET, path, None)
        .header("sec-fetch-dest", "document")
        .header("sec-fetch-mode", "navigate");
    let opened = visit.send().await.unwrap();
    assert_eq!(opened.status(), 303);
    let (cookie, _) = cookie_of(&opened);
    assert!(who(&yard, Some(&cookie)).await.is_object());
    yard.stop().await;
}

#[tokio::test]
async fn guessing_cookies_and_links_is_counted_as_guessing_keys_is() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_failures_per_minute = 5\n".to_owned(),
        ..Options::default()
    })
    .await;
    let port = yard.url.rsplit_once(':').unwrap().1.to_owned();
    let cookie = format!("branchyard-{port}=byt_guessed");
    let mut answers = Vec::new();
    for _ in 0..3 {
        let known = ask(&yard, Method::GET, "/api/session", Some(&cookie));
        let link = ask(&yard, Method::GET, "/open/guessed", None);
        for request in [known, link] {
            answers.push(request.send().await.unwrap().status().as_u16());
        }
    }
    assert_eq!(answers, [200, 401, 200, 401, 200, 429]);
    yard.stop().await;
}

#[tokio::test]
async fn the_page_is_served_to_browsers_with_a_strict_policy() {
    let mut yard = Yard::new().await;
    let page = ask(&yard, Method::GET, "/", None).header("accept", "text/html,*/*");
    let page = page.send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    let tag = page.headers()["etag"].to_str().unwrap().to_owned();
    let html = page.text().await.unwrap();
    // Everything that it names is there, and none of it from elsewhere.
    let named: Vec<_> = ["src=\"", "href=\""]
        .iter()
        .flat_map(|attribute| html.split(attribute).skip(1))
        .filter_map(|rest| rest.split('"').next())
        .filter(|name| !name.starts_with('#') && !name.is_empty() && *name != "./")
        .collect();
    assert!(named.len() >= 3, "{named:?}");
    for name in named {
        let file = ask(&yard, Method::GET, &format!("/{name}"), None);
        let file = file.send().await.unwrap();
        assert_eq!(file.status(), 200, "{name}");
        assert!(
            file.headers().contains_key("content-security-policy"),
            "{name}"
        );
    }
    let known = ask(&yard, Method::GET, "/", None).header("accept", "text/html");
    let known = known.header("if-none-match", tag).send().await.unwrap();
    assert_eq!(known.status(), 304);
    // Compressed only for those who say that they can read it.
    for (encoding, told) in [
        ("gzip, br", Some("gzip")),
        ("identity", None),
        ("gzip;q=0", None),
    ] {
        let script =
            ask(&yard, Method::GET, "/js/main.js", None).header("accept-encoding", encoding);
        let script = script.send().await.unwrap();
        let headers = script.headers().clone();
        let is_told = headers
            .get("content-encoding")
            .map(|told| told.to_str().unwrap());
        assert_eq!(is_told, told, "{encoding}");
        assert!(
            headers["vary"]
                .to_str()
                .unwrap()
                .contains("accept-encoding")
        );
        let begins = script.bytes().await.unwrap()[..2].to_vec();
        assert_eq!(begins == [0x1f, 0x8b], told.is_some(), "{encoding}");
    }
    let text = ask(&yard, Method::GET, "/", None).send().await.unwrap();
    assert!(text.text().await.unwrap().starts_with("branchyard "));
    for missing in [
        "/js/none.js",
        "/js/../Cargo.toml",
        "/style/%2e%2e/index.html",
    ] {
        let answer = ask(&yard, Method::GET, missing, None).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{missing}");
    }
    yard.stop().await;
}
