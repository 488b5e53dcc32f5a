//! What a build plants in git's own files is put back before the daemon's next git command, and never
//! executed by it.

use serde_json::json;

use super::Marker;
use crate::support::{Yard, json_of, text_of, warnings_of};

/// Everything in a git configuration that makes git start a program, or reach another remote.
const CONFIG: &str = r#"
git config --file "$1" core.fsmonitor "$TOUCH"
git config --file "$1" core.sshCommand "$TOUCH"
git config --file "$1" core.hooksPath "$EVIL/hooks"
git config --file "$1" core.attributesFile "$EVIL/attributes"
git config --file "$1" core.pager "$TOUCH"
git config --file "$1" core.editor "$TOUCH"
git config --file "$1" core.alternateRefsCommand "$TOUCH"
git config --file "$1" credential.helper "!$TOUCH"
git config --file "$1" filter.evil.clean "$TOUCH; cat"
git config --file "$1" filter.evil.smudge "$TOUCH; cat"
git config --file "$1" filter.evil.required true
git config --file "$1" diff.external "$TOUCH"
git config --file "$1" diff.evil.command "$TOUCH"
git config --file "$1" diff.evil.textconv "$TOUCH; cat"
git config --file "$1" merge.evil.driver "$TOUCH"
git config --file "$1" remote.origin.uploadpack "$TOUCH; git-upload-pack"
git config --file "$1" remote.origin.receivepack "$TOUCH; git-receive-pack"
git config --file "$1" url.ext::sh.insteadOf "$ORIGIN"
git config --file "$1" url./nowhere/.pushInsteadOf "$ORIGIN"
git config --file "$1" protocol.ext.allow always
git config --file "$1" alias.status "!$TOUCH"
git config --file "$1" gpg.program "$TOUCH"
git config --file "$1" commit.gpgSign true
git config --file "$1" gc.auto 1
git config --file "$1" include.path "$EVIL/included"
"#;

/// `sh plant.sh shared`: in what all workspaces share. `sh plant.sh own`: in what only this one has.
fn plant_script(yard: &Yard, marker: &Marker) -> String {
    let evil = yard.dir.path().join("evil");
    let hooks = "applypatch-msg commit-msg fsmonitor-watchman post-checkout post-commit post-merge \
                 post-rewrite pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase \
                 prepare-commit-msg proc-receive reference-transaction post-index-change";
    format!(
        "set -e\nTOUCH='{touch}'\nEVIL='{evil}'\nORIGIN='{origin}'\n\
         STORE=`git rev-parse --git-common-dir`\nOWN=`git rev-parse --git-dir`\n\
         mkdir -p $EVIL/hooks $STORE/info\n\
         case $1 in\n\
         shared) mkdir -p $STORE/hooks; HOOKS=\"$STORE/hooks $EVIL/hooks\"; set -- $STORE/config; \
         echo '* filter=evil diff=evil merge=evil' > $STORE/info/attributes;;\n\
         own) HOOKS=$EVIL/hooks; set -- $OWN/config.worktree;;\n\
         esac\n\
         for dir in $HOOKS; do for hook in {hooks}; do\n\
         printf '#!/bin/sh\\n%s\\n' \"$TOUCH\" > $dir/$hook; chmod +x $dir/$hook; done; done\n\
         echo '* filter=evil diff=evil merge=evil' > $EVIL/attributes\n{CONFIG}\n\
         printf '[filter \"evil\"]\\n\\tprocess = %s\\n' \"$TOUCH\" > $EVIL/included\necho planted\n",
        touch = marker.touch(),
        evil = evil.display(),
        origin = yard.origin.url(),
    )
}

pub(super) async fn yard_with_plants() -> (Yard, Marker) {
    let yard = Yard::new().await;
    let marker = Marker::new(&yard);
    yard.origin.write("plant.sh", plant_script(&yard, &marker));
    yard.origin.write(
        "Makefile",
        "who:\n\t@cat name.txt\nshared:\n\t@sh plant.sh shared\nown:\n\t@sh plant.sh own\n",
    );
    // The filter is asked for by a tracked file too, which nobody can put back.
    yard.origin
        .write(".gitattributes", "*.txt filter=evil diff=evil merge=evil\n");
    yard.origin.commit("plants");
    yard.origin.push("main");
    (yard, marker)
}

/// What git is told by the files that a build can reach.
pub(super) fn configuration(yard: &Yard) -> Vec<(String, Option<Vec<u8>>)> {
    let admin = yard.store().join("worktrees/main");
    [
        yard.store().join("config"),
        yard.store().join("config.worktree"),
        yard.store().join("HEAD"),
        yard.store().join("info/attributes"),
        yard.store().join("hooks/post-checkout"),
        admin.join("config.worktree"),
        admin.join("commondir"),
        admin.join("gitdir"),
        yard.workspace("main").join(".git"),
    ]
    .map(|path| (path.display().to_string(), std::fs::read(path).ok()))
    .into()
}

pub(super) fn push_next(yard: &Yard, content: &str) {
    yard.origin.at("origin/main");
    yard.origin.write("name.txt", content);
    yard.origin.commit("next");
    yard.origin.push("main");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_build_plants_is_put_back_told_and_never_executed() {
    let (mut yard, marker) = yard_with_plants().await;
    yard.make("main", &["who"]).await;
    let clean = configuration(&yard);
    for place in ["shared", "own"] {
        for (n, (kind, body)) in [
            ("make", json!({"args": ["who"]})),
            ("make", json!({"args": ["who"], "sync": "none"})),
            ("git", json!({"operation": "status"})),
            ("git", json!({"operation": "diff", "args": ["HEAD~1"]})),
            (
                "git",
                json!({"operation": "log", "args": ["-p"], "sync": "none"}),
            ),
            ("git", json!({"operation": "fetch"})),
            ("git", json!({"operation": "pull"})),
            ("git", json!({"operation": "push", "args": ["--dry-run"]})),
            ("git", json!({"operation": "restore", "args": ["name.txt"]})),
            (
                "git",
                json!({"operation": "commit", "args": ["--allow-empty", "--dry-run"]}),
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let input = format!("{kind} {body} after planting in {place}");
            let planted = yard.make("main", &["-s", place]).await;
            assert_eq!(text_of(&planted), "planted\n", "{input}: {planted:?}");
            let _ = std::fs::remove_file(&marker.0);
            assert_ne!(configuration(&yard), clean, "{input}: nothing was planted");
            push_next(&yard, &format!("{place} {n}\n"));

            let events = yard.run(kind, "main", body.clone()).await;
            marker.assert_absent(&input);
            assert_eq!(configuration(&yard), clean, "{input}");
            assert_eq!(
                warnings_of(&events),
                ["store_tampered"],
                "{input}: {events:?}"
            );
            assert_eq!(
                events.last().unwrap().kind,
                "complete",
                "{input}: {events:?}"
            );
        }
    }
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "own 9\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_and_preparations_execute_nothing_planted_either() {
    let (mut yard, marker) = yard_with_plants().await;
    yard.make("main", &["who"]).await;
    let clean = configuration(&yard);
    for place in ["shared", "own"] {
        for operation in ["status", "diff", "log", "show", "branch"] {
            let input = format!("quick {operation} after planting in {place}");
            yard.make("main", &["-s", place]).await;
            let _ = std::fs::remove_file(&marker.0);
            // A stat that is not cached makes git look into the file, through its filter.
            std::fs::write(yard.workspace("main").join("name.txt"), "edited\n").unwrap();
            let args = match operation {
                "log" | "show" => json!(["-p"]),
                _ => json!([]),
            };
            let body = json!({"operation": operation, "args": args});
            let path = "/api/repos/demo/branches/main/git/quick";
            let answer = yard.post_json(path, body).await;
            assert_eq!(answer["exit_code"], 0, "{input}: {answer}");
            marker.assert_absent(&input);
            assert_eq!(configuration(&yard), clean, "{input}");
        }
        let input = format!("a new workspace after planting in {place}");
        yard.make("main", &["-s", place]).await;
        let _ = std::fs::remove_file(&marker.0);
        yard.origin.branch(&format!("next-{place}"));
        let path = format!("/api/repos/demo/branches/next-{place}");
        json_of(yard.put(&path, json!({})).await).await;
        marker.assert_absent(&input);
    }
    yard.stop().await;
}
