//! Values that are longer than anything that makes sense: refused in few words.

use serde_json::json;

use super::local::at_work;
use crate::support::work::write;

const MUCH: usize = 500_000;

#[tokio::test]
async fn a_huge_value_is_refused_in_few_words() {
    let mut yard = at_work().await;
    write(&yard.workspace("main"), "name.txt", "mine\n");
    let long = "x".repeat(MUCH);
    let wrong = [
        ("reflog", json!({ "ref": long })),
        ("reflog", json!({ "ref": "x".repeat(300) })),
        ("stash", json!({ "action": "push", "message": long })),
        ("merge", json!({ "from": "origin/main", "message": long })),
        (
            "commit",
            json!({ "message": "m", "all": true, "author": format!("A <{long}>") }),
        ),
        ("add", json!({ "paths": [long] })),
        ("checkout", json!({ "paths": ["."], "to_branch": long })),
        ("branch", json!({ "action": "create", "name": long })),
        ("tag", json!({ "action": "create", "name": long })),
        ("log", json!({ "since": long })),
    ];
    for (verb, body) in wrong {
        let answer = yard.try_verb("main", verb, body).await;
        let status = answer.status().as_u16();
        let said = answer.text().await.unwrap();
        assert!((400..500).contains(&status), "{verb}: {status}");
        assert!(said.len() < 20_000, "{verb}: {} bytes", said.len());
    }
    // A message may well be long.
    let body =
        json!({ "message": format!("subject\n\n{long}"), "all": true, "verbosity": "minimal" });
    yard.verb("main", "commit", body).await;
    yard.stop().await;
}
