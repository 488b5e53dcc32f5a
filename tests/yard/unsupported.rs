//! What is not supported is not passed over in silence: a run says what is missing in its workspace.

use serde_json::json;

use crate::support::{Agent, Event, Yard, warnings_of};

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

fn message<'a>(events: &'a [Event], code: &str) -> &'a str {
    let warning = events
        .iter()
        .find(|event| event.kind == "warning" && event.data["code"] == code);
    warning.unwrap().data["message"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn submodules_and_pointers_are_named() {
    let mut yard = Yard::new().await;
    let plain = yard.make("main", &["who"]).await;
    assert_eq!(warnings_of(&plain), [] as [&str; 0]);
    yard.origin.at("main");
    yard.origin.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    yard.origin.write("assets/logo.bin", POINTER);
    yard.origin
        .write("assets/text.txt", POINTER.replace("version", "Version"));
    yard.origin.commit("pointers");
    let id = "1".repeat(40);
    let module = format!("160000,{id},vendor/lib");
    yard.origin
        .git(&["update-index", "--add", "--cacheinfo", &module]);
    // As it is staged: there is no directory to look at.
    yard.origin.git(&["commit", "-q", "-m", "a submodule"]);
    yard.origin.push("odd");
    let events = yard.make("odd", &["who"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    assert!(message(&events, "submodules_empty").contains("vendor/lib"));
    let pointers = message(&events, "lfs_pointers");
    assert!(pointers.contains("assets/logo.bin") && !pointers.contains("text.txt"));
    // The second time, and with the result, as well.
    let agent = Agent::new(&yard);
    let result = agent
        .tool(
            "make",
            json!({ "repo": "demo", "branch": "odd", "args": ["who"] }),
        )
        .await;
    let made = &result["structuredContent"];
    let codes: Vec<_> = made["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| &n["code"])
        .collect();
    assert_eq!(codes, ["submodules_empty", "lfs_pointers"]);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("vendor/lib") && text.contains("assets/logo.bin"),
        "{text}"
    );
    let run = made["run_id"].as_str().unwrap();
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(record["warnings"], made["notices"]);
    yard.stop().await;
}
