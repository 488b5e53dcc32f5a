//! Files that git-lfs keeps, in jobs.

use serde_json::{Value, json};

use crate::lfs::{ATTRIBUTES, CONTENT, OTHER, served};
use crate::support::beside::{Beside, add, work};
use crate::support::remotes::Auth;
use crate::support::text_of;

#[tokio::test(flavor = "multi_thread")]
async fn jobs_and_submodules_have_contents_too() {
    let (mut yard, remote) = served(Auth::Anyone, "").await;
    let lib = Beside::new(&yard, "lib");
    std::fs::write(lib.work.join(".gitattributes"), ATTRIBUTES).unwrap();
    std::fs::write(lib.work.join("two.bin"), remote.lfs().keep(OTHER)).unwrap();
    lib.record();
    // As it is found there by those who come over HTTP.
    add(&work(&yard), "../lib.git", "lib");
    let script = "cat assets/one.bin lib/two.bin; git status --porcelain";
    yard.origin.write("Makefile", format!("t:\n\t@{script}\n"));
    yard.origin.workflow(
        "ci.yml",
        &format!(
            "on: push\njobs:\n  one:\n    runs-on: linux\n    steps: [{{run: {}}}]\n",
            json!(script)
        ),
    );
    yard.start().await;
    let expected = [CONTENT, OTHER].concat();
    let events = yard.make("main", &["t"]).await;
    assert_eq!(text_of(&events).as_bytes(), expected, "{events:#?}");
    let ended = yard.pipeline(json!({})).await.green();
    let printed = yard.step_log(&ended, "one", 1).await;
    assert_eq!(printed.as_bytes(), expected);
    assert_eq!(ended.job("one")["warnings"], Value::Null);
    assert_eq!(remote.lfs().given(), [1, 1]);
    drop(lib);
    yard.stop().await;
}
