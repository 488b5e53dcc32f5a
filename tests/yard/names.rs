//! Branch names that look alike or odd are distinct workspaces, end to end.

use crate::support::{Yard, encode, git};

#[tokio::test(flavor = "multi_thread")]
async fn names_that_look_alike_are_different_workspaces() {
    let mut yard = Yard::new().await;
    let longest = "l".repeat(240);
    let names = [
        "a/b",
        "a-b",
        "A/b",
        &longest,
        "ünïcode",
        "Feat",
        "feat",
        "\u{e9}",
        "e\u{301}",
        "$(id)",
        "`id`",
        "a;id",
        "a|b",
        "#1",
        "100%",
        "a+b",
        "a&b=c",
    ];
    let mut paths = Vec::new();
    for name in names {
        let commit = yard.origin.branch(name);
        let events = yard.make(name, &["who"]).await;
        let out: Vec<u8> = events.iter().flat_map(|e| e.bytes()).collect();
        assert_eq!(String::from_utf8(out).unwrap(), format!("{name}\n"));
        assert_eq!(events.last().unwrap().data["commit"], commit.as_str());
        let described = yard
            .get_json(&format!("/api/repos/demo/branches/{}", encode(name)))
            .await;
        assert_eq!(described["branch"], name);
        let path = described["path"].as_str().unwrap().to_owned();
        assert_eq!(
            git(path.as_ref(), &["symbolic-ref", "--short", "HEAD"]),
            name
        );
        assert_eq!(
            std::fs::read_to_string(format!("{path}/name.txt")).unwrap(),
            format!("{name}\n")
        );
        paths.push(path);
    }
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), names.len());
    let listed = yard.get_json("/api/repos/demo/branches").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), names.len());
    yard.stop().await;
}
