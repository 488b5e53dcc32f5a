//! Mail and chat at the end of runs and pipelines.

use std::fs;

use serde_json::json;

use super::{RECIPES, YARD, block, green_and_red};
use crate::after::script;
use crate::support::{Options, Yard};
use crate::support::{Receiver, secret_file};

#[tokio::test]
async fn mail_is_sent_of_what_did_not_go_well() {
    let mut yard = Yard::asleep(Options::default());
    green_and_red(&yard);
    let (bin, sent) = (yard.dir.path().join("bin"), yard.dir.path().join("sent"));
    fs::create_dir(&bin).unwrap();
    script(
        &yard,
        "bin/sendmail",
        &format!("#!/bin/sh\n[ \"$*\" = -t ] && cat >> {sent:?}\n"),
    );
    let of_script = "`mail-the-end.sh`";
    script(&yard, "mail-the-end.sh", block(RECIPES, of_script));
    yard.configure(Options {
        top: format!("public_url = {YARD:?}"),
        tables: format!(
            "{}\n[build]\npath = \"{}:{}\"\n",
            block(RECIPES, "## Mail"),
            bin.display(),
            env!("PATH")
        ),
        ..Options::default()
    });
    yard.start().await;
    yard.make("main", &["test"]).await;
    yard.make("red", &["test"]).await;
    let items = yard.commands_done(1).await;
    assert_eq!(items[0]["state"], "delivered", "{items:#?}");
    let mail = fs::read_to_string(sent).unwrap();
    let start = "To: builds@example.org\nSubject: demo red: failed\nContent-Type: text/plain; charset=utf-8\n\n";
    assert!(mail.starts_with(start), "{mail}");
    let run = items[0]["run_id"].as_str().unwrap();
    assert!(mail.contains("The run of session at "), "{mail}");
    assert!(mail.ends_with(&format!("{YARD}/#/run/{run}\n")), "{mail}");
    yard.stop().await;
}

#[tokio::test]
async fn a_chat_is_told_of_pipelines() {
    let chat = Receiver::start().await;
    let mut yard = Yard::asleep(Options::default());
    green_and_red(&yard);
    secret_file(&yard, "chat-url", &format!("{}/a-hook", chat.url));
    script(
        &yard,
        "tell-the-chat.sh",
        block(RECIPES, "`tell-the-chat.sh`"),
    );
    yard.configure(Options {
        top: format!("public_url = {YARD:?}"),
        tables: block(RECIPES, "## Chat").to_owned(),
        ..Options::default()
    });
    yard.start().await;
    yard.make("main", &["test"]).await;
    for (before, (branch, state)) in [("main", "succeeded"), ("red", "failed")]
        .into_iter()
        .enumerate()
    {
        let asked = json!({ "branch": branch, "event": "push" });
        let started = yard.post_json("/api/repos/demo/pipelines", asked).await;
        let id = started["pipeline_id"].as_str().unwrap();
        yard.get_json(&format!("/api/pipelines/{id}?wait=50s"))
            .await;
        yard.until_json("/api/repos/demo/deliveries", |_| {
            chat.received().len() > before
        })
        .await;
        let told = chat.received().pop().unwrap();
        assert_eq!(told.path, "/a-hook");
        let text = format!("demo {branch}: {state} {YARD}/#/pipeline/{id}");
        assert_eq!(told.json(), json!({ "text": text }));
    }
    let items = yard.commands_done(2).await;
    assert!(items.iter().all(|item| item["state"] == "delivered"));
    yard.stop().await;
}
