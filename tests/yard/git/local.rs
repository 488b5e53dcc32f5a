//! add, and what all verbs within a workspace have in common.

use serde_json::{Value, json};

use crate::support::work::write;
use crate::support::{Agent, Options, Yard, git, problem_of};

/// A yard with a workspace of main.
pub async fn at_work() -> Yard {
    // As it is where nothing is written down: contained where the machine allows it.
    let yard = Yard::with(Options {
        tables: "[sandbox]\n".to_owned(),
        ..Options::default()
    })
    .await;
    yard.make("main", &["who"]).await;
    yard
}

/// The names in a list of changes.
pub fn paths(changes: &Value) -> Vec<&str> {
    let changes = changes.as_array().unwrap();
    changes
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect()
}

/// The refusal of a verb: its status, its code, and all of it.
pub async fn refused(yard: &Yard, branch: &str, verb: &str, body: Value) -> (u16, String, Value) {
    let (status, problem) = problem_of(yard.try_verb(branch, verb, body).await).await;
    let code = problem["code"].as_str().unwrap_or_default().to_owned();
    (status, code, problem)
}

#[tokio::test]
async fn files_are_staged_by_either_face() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    write(&workspace, "one", "1\n");
    write(&workspace, "two", "2\n");
    write(&workspace, "name.txt", "mine\n");
    write(&workspace, "main.o", "object\n");

    let added = yard
        .verb("main", "add", json!({ "paths": ["one", "main.o"] }))
        .await;
    assert_eq!(
        added["staged"],
        json!([{ "path": "one", "change": "added" }])
    );
    assert_eq!(added["ignored"], json!(["main.o"]));
    assert_eq!(added["branch"], "main");
    let agent = Agent::of_git(&yard, "main");
    let updated = agent
        .call("git_add", json!({ "update": true, "verbosity": "full" }))
        .await;
    assert_eq!(paths(&updated["staged"]), ["name.txt", "one"]);
    assert_eq!(updated["untracked"], json!(["two"]));
    let all = agent
        .call("git_add", json!({ "all": true, "verbosity": "minimal" }))
        .await;
    assert_eq!((&all["staged_files"], all.get("staged")), (&json!(3), None));
    std::fs::remove_file(workspace.join("two")).unwrap();
    yard.verb("main", "add", json!({ "paths": ["two"] })).await;
    yard.verb("main", "add", json!({ "paths": ["main.o"], "force": true }))
        .await;
    let status = git(&workspace, &["status", "--porcelain"]);
    assert_eq!(status, "A  main.o\nM  name.txt\nA  one");
    yard.stop().await;
}

#[tokio::test]
async fn what_cannot_be_staged_is_refused_by_name() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    write(&workspace, "deep/nested/file", "x");
    git(&workspace.join("deep/nested"), &["init", "-q"]);
    for (body, expected) in [
        (json!({}), (422, "unprocessable")),
        (
            json!({ "all": true, "update": true }),
            (422, "unprocessable"),
        ),
        (
            json!({ "all": true, "force": true }),
            (422, "unprocessable"),
        ),
        (json!({ "paths": ["none"] }), (404, "path_not_found")),
        (json!({ "paths": ["deep"] }), (409, "embedded_repository")),
        (json!({ "all": true }), (409, "embedded_repository")),
        (json!({ "paths": [":/"] }), (404, "path_not_found")),
        (json!({ "paths": ["-A"] }), (404, "path_not_found")),
        (json!({ "paths": ["*"] }), (404, "path_not_found")),
        (json!({ "args": ["-A"] }), (422, "unprocessable")),
    ] {
        let (status, code, _) = refused(&yard, "main", "add", body.clone()).await;
        assert_eq!((status, code.as_str()), expected, "{body}");
    }
    assert_eq!(git(&workspace, &["diff", "--cached", "--name-only"]), "");
    yard.stop().await;
}

#[tokio::test]
async fn no_path_leads_out_of_the_workspace() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    std::os::unix::fs::symlink("/etc", workspace.join("out")).unwrap();
    for (path, expected) in [
        ("../other/x", 403),
        ("/etc/passwd", 400),
        ("out/passwd", 403),
        (".git/config", 403),
        ("a\0b", 400),
    ] {
        for (verb, body) in [
            ("add", json!({ "paths": [path] })),
            ("commit", json!({ "message": "m", "paths": [path] })),
            ("reset", json!({ "paths": [path] })),
            ("clean", json!({ "paths": [path] })),
            ("stash", json!({ "action": "push", "paths": [path] })),
            ("checkout", json!({ "paths": [path] })),
        ] {
            let (status, _, problem) = refused(&yard, "main", verb, body).await;
            let told = (status, &problem["field"]);
            assert_eq!(
                told,
                (expected, &json!("paths")),
                "{verb} {path:?}: {problem}"
            );
        }
    }
    let agent = Agent::of_git(&yard, "main");
    let said = agent
        .refusal("git_add", json!({ "paths": ["../other/x"] }))
        .await;
    assert!(said.contains("outside_workspace"), "{said}");
    yard.stop().await;
}

#[tokio::test]
async fn nothing_that_was_planted_runs() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    let marker = yard.dir.path().join("ran");
    let touch = format!("touch {}; cat", marker.display());
    let hooks = yard.dir.path().join("hooks");
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "reference-transaction",
    ] {
        write(
            &hooks,
            hook,
            &format!("#!/bin/sh\ntouch {}\n", marker.display()),
        );
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(hooks.join(hook), mode).unwrap();
    }
    let program = hooks.join("pre-commit").display().to_string();
    let plant = || {
        let admin = yard.store().join("worktrees/main/config.worktree");
        for file in [yard.store().join("config"), admin] {
            for (key, value) in [
                ("core.hooksPath", hooks.to_str().unwrap()),
                ("core.editor", program.as_str()),
                ("gpg.program", program.as_str()),
                ("gpg.ssh.program", program.as_str()),
                ("commit.gpgSign", "true"),
                ("tag.gpgSign", "true"),
                ("filter.evil.clean", touch.as_str()),
                ("filter.evil.smudge", touch.as_str()),
            ] {
                git(
                    &workspace,
                    &["config", "--file", file.to_str().unwrap(), key, value],
                );
            }
        }
    };
    write(&workspace, ".gitattributes", "*.txt filter=evil\n");
    write(&workspace, "name.txt", "mine\n");
    for (verb, body) in [
        ("add", json!({ "all": true })),
        (
            "commit",
            json!({ "message": "m", "all": true, "allow_empty": true }),
        ),
        (
            "tag",
            json!({ "action": "create", "name": "v1", "message": "m" }),
        ),
        ("tag", json!({ "action": "verify", "name": "v1" })),
        (
            "checkout",
            json!({ "paths": ["name.txt"], "from": "HEAD~1" }),
        ),
        ("stash", json!({ "action": "push" })),
        ("stash", json!({ "action": "pop" })),
        (
            "reset",
            json!({ "mode": "hard", "to": "HEAD~1", "confirm": true }),
        ),
    ] {
        plant();
        yard.verb("main", verb, body.clone()).await;
        assert!(!marker.exists(), "{verb} {body}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_long_answer_says_what_it_leaves_out() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    for n in 0..2_000 {
        write(
            &workspace,
            &format!("a/rather/long/directory/file-{n:04}"),
            "x",
        );
    }
    let agent = Agent::of_git(&yard, "main");
    let listed = agent.call("git_clean", json!({ "paths": ["a"] })).await;
    assert_eq!((&listed["count"], listed.get("omitted")), (&json!(1), None));
    let told = |answer: &Value, list: &str| {
        let shown = answer[list].as_array().unwrap().len();
        (
            shown > 20,
            shown + usize::try_from(answer["omitted"][list].as_u64().unwrap()).unwrap(),
        )
    };
    let added = agent.call("git_add", json!({ "all": true })).await;
    assert_eq!(
        (told(&added, "staged"), &added["staged_files"]),
        ((true, 2_000), &json!(2_000))
    );
    let made = agent.call("git_commit", json!({ "message": "many" })).await;
    assert_eq!(
        (told(&made, "files"), &made["files_changed"]),
        ((true, 2_000), &json!(2_000))
    );
    let whole = yard
        .verb("main", "reset", json!({ "mode": "soft", "to": "HEAD~1" }))
        .await;
    assert_eq!(
        (paths(&whole["staged"]).len(), whole.get("omitted")),
        (2_000, None)
    );
    let stashed = agent.call("git_stash", json!({ "action": "push" })).await;
    assert_eq!(told(&stashed, "files"), (true, 2_000));
    let shown = json!({ "action": "show", "verbosity": "full" });
    let shown = agent.call("git_stash", shown).await;
    let omitted = &shown["omitted"]["patch"];
    assert!(omitted.as_u64().unwrap() > 2_000, "bytes of the patch");
    yard.stop().await;
}
