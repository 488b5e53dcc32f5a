//! `top`: what happens in the yard, as lines for programs; on a terminal it is in `terminal`.

use rustix::process::Signal;

use super::Underway;
use super::restart::Restarting;

const MAKEFILE: &str = "who:\n\t@cat name.txt\n";

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_lines_and_go_on_with_the_next_daemon() {
    let mut yard = Restarting::new(MAKEFILE).await;
    let mut json = Underway::start(yard.command(&["--json", "top"]));
    json.until(|line| line.contains("\"hello\"")).await;
    let mut words = Underway::start(yard.command(&["top"]));
    let make = ["make", "demo", "main", "--", "who"];

    // Nothing says that the other listens, too; it does once it tells of anything.
    let heard = async {
        let line = words
            .until(|line| line.contains("\trun\tsucceeded\t"))
            .await;
        let cells: Vec<_> = line.split('\t').map(ToOwned::to_owned).collect();
        cells
    };
    let built = async {
        loop {
            super::said(yard.command(&make)).await.ok();
        }
    };
    let cells = tokio::select! {
        cells = heard => cells,
        () = built => unreachable!("it never ends"),
    };
    assert_eq!(cells[1..5], ["run", "succeeded", "demo", "main"]);
    let ended = json.until(|line| line.contains("\"ended\"")).await;
    let ended: serde_json::Value = serde_json::from_str(&ended).unwrap();
    assert_eq!(ended["run"]["repo"], "demo");

    yard.kill().await;
    yard.start_anew().await;
    json.until(|line| line.contains("\"hello\"")).await;
    super::said(yard.command(&make)).await.ok();
    json.until(|line| line.contains("\"ended\"")).await;
    for top in [json, words] {
        top.signal(Signal::INT);
        assert_eq!(top.end().await.code, 0, "to stop looking is no failure");
    }
    yard.stop().await;
}
