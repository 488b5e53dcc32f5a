//! What a bounded token sees of the pipelines of others: nothing.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{PIPELINES, text};
use crate::support::{Yard, json_of};

const WORKFLOW: &str = r#"
  build:
    runs-on: linux
    steps:
      - run: echo secret >> "$GITHUB_STEP_SUMMARY"
      - uses: actions/upload-artifact@v4
        with: {name: made, path: name.txt}
"#;

#[tokio::test]
async fn pipelines_of_other_branches_do_not_exist() {
    let mut yard = Yard::new().await;
    yard.jobs(WORKFLOW);
    yard.origin.push("mine");
    let theirs = yard.pipeline(json!({"branch": "main"})).await.green();
    let bounded = yard
        .token(json!({"role": "dev", "name": "bounded", "repos": ["demo"], "branches": ["mine"]}))
        .await;
    let ask = async |token: &str, method: Method, path: &str, body: Option<Value>| {
        yard.asked_by(token, method, path, body).await
    };
    let body = Some(json!({"branch": "mine"}));
    let own = json_of(ask(&bounded, Method::POST, PIPELINES, body).await).await;
    let own = yard.pipeline_ended(text(&own["pipeline_id"])).await.green();
    let id = theirs.id();
    let unknown = "018f0000-0000-7000-8000-000000000000";
    let paths = [
        (Method::GET, "/api/pipelines/{}"),
        (Method::GET, "/api/pipelines/{}?wait=1s"),
        (Method::GET, "/stream/pipelines/{}"),
        (Method::GET, "/stream/pipelines/{}?output=true"),
        (Method::GET, "/api/pipelines/{}/jobs/build/summary"),
        (Method::GET, "/api/pipelines/{}/artifacts"),
        (Method::GET, "/api/pipelines/{}/artifacts/made"),
        (
            Method::GET,
            "/api/pipelines/{}/artifacts/made/files/name.txt",
        ),
        (Method::GET, "/api/pipelines/{}/artifacts/made/archive"),
        (Method::POST, "/api/pipelines/{}/cancel"),
        (Method::POST, "/api/pipelines/{}/retry"),
    ];
    for (method, path) in paths {
        let body = (method == Method::POST).then(|| json!({}));
        let at = |id: &str| path.replace("{}", id);
        let theirs = ask(&bounded, method.clone(), &at(id), body.clone()).await;
        let none = ask(&bounded, method.clone(), &at(unknown), body.clone()).await;
        assert_eq!(theirs.status(), StatusCode::NOT_FOUND, "{path}");
        // An id of another's tells no more than one that never was.
        assert_eq!(none.status(), StatusCode::NOT_FOUND, "{path}");
        let theirs = theirs.text().await.unwrap().replace(id, "ID");
        let none = none.text().await.unwrap().replace(unknown, "ID");
        let same = |text: &str| -> (Value, Value) {
            let problem: Value = serde_json::from_str(text).unwrap();
            (problem["code"].clone(), problem["detail"].clone())
        };
        assert_eq!(same(&theirs), same(&none), "{path}");
        let own = ask(&bounded, method, &at(own.id()), body).await;
        assert_ne!(own.status(), StatusCode::NOT_FOUND, "{path}");
    }
    for (path, body) in [
        (PIPELINES, Some(json!({"branch": "main"}))),
        (PIPELINES, Some(json!({}))),
        (
            PIPELINES,
            Some(json!({"branch": "mine", "commit": "0".repeat(40)})),
        ),
    ] {
        let answer = ask(&bounded, Method::POST, path, body.clone()).await;
        assert!(answer.status().is_client_error(), "{body:?}");
    }
    for path in [
        "/api/repos/demo/artifacts/made",
        "/api/repos/demo/artifacts/made?branch=main",
    ] {
        let answer = ask(&bounded, Method::GET, path, None).await;
        assert!(answer.status().is_client_error(), "{path}");
    }
    let mine = ask(
        &bounded,
        Method::GET,
        "/api/repos/demo/artifacts/made?branch=mine",
        None,
    )
    .await;
    assert_eq!(mine.status(), StatusCode::OK);
    let listed = json_of(ask(&bounded, Method::GET, PIPELINES, None).await).await;
    let items = listed["items"].as_array().unwrap();
    let branches: Vec<_> = items.iter().map(|item| text(&item["branch"])).collect();
    assert_eq!(branches, ["mine"]);
    assert!(!listed.to_string().contains(id));
    // Nor do the runs of its steps.
    let run = theirs.run("build", 1);
    for path in [format!("/api/runs/{run}"), format!("/api/runs/{run}/log")] {
        let answer = ask(&bounded, Method::GET, &path, None).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn who_may_only_look_starts_and_stops_nothing() {
    let mut yard = Yard::new().await;
    let ended = yard.run_jobs(WORKFLOW).await.green();
    let token = yard.token(json!({"role": "ui", "name": "looker"})).await;
    let paths = [
        PIPELINES.to_owned(),
        format!("/api/pipelines/{}/cancel", ended.id()),
        format!("/api/pipelines/{}/retry", ended.id()),
    ];
    for path in paths {
        let answer = yard
            .asked_by(&token, Method::POST, &path, Some(json!({})))
            .await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{path}");
    }
    let path = format!("/api/pipelines/{}/artifacts/made", ended.id());
    let answer = yard.asked_by(&token, Method::GET, &path, None).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let anyone = yard
        .client
        .get(format!("{}{path}", yard.url))
        .send()
        .await
        .unwrap();
    assert_eq!(anyone.status(), StatusCode::UNAUTHORIZED);
    yard.stop().await;
}
