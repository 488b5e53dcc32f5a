//! What lies in a submodule taints like what lies beside it.

use super::{NPM, yard};
use crate::support::beside::{Beside, add, work};
use crate::support::{text_of, warnings_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_submodule_that_is_as_recorded_keeps_no_secret_away_and_another_does() {
    let mut yard = yard();
    Beside::new(&yard, "lib");
    yard.origin.at("main");
    add(&work(&yard), "../lib.git", "lib");
    yard.origin.commit("a submodule");
    yard.origin.push("main");
    let mut daemon = yard.start_binary(&[("NPM", NPM)]).await;
    let show = async || {
        let events = yard.make("main", &["show"]).await;
        (text_of(&events), warnings_of(&events).join(" "))
    };
    let given = ("token=[***] key=[unset]\n".to_owned(), String::new());
    assert_eq!(show().await, given);
    let file = yard.workspace("main").join("lib/file");
    for (path, content) in [(&file, "mine"), (&file.with_file_name("new"), "mine")] {
        std::fs::write(path, content).unwrap();
        let events = yard.make("main", &["show"]).await;
        let end = &events.last().unwrap().data;
        assert_eq!(end["code"], "tainted", "{path:?}: {end}");
        match path.ends_with("new") {
            true => std::fs::remove_file(path).unwrap(),
            false => std::fs::write(path, "lib").unwrap(),
        }
        assert_eq!(show().await, given);
    }
    daemon.stop().await;
}
