//! Code environments: which tool makes one, with which words, and what is no package.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Options, Yard, git, problem_of, text_of};

const BRANCH: &str = "feature";
const EXEC: &str = "/stream/repos/demo/branches/feature/exec";
const INSTALL: &str = "/stream/repos/demo/branches/feature/install_dependencies";

/// A yard whose builds find programs in these directories alone.
async fn yard(path: &str) -> Yard {
    let mut yard = Yard::asleep(Options::default());
    let bin = bin(&yard);
    std::fs::create_dir(&bin).unwrap();
    let path = path.replace("BIN", bin.to_str().unwrap());
    yard.configure(Options {
        tables: format!("[code]\nwithout_sandbox = true\n[build]\npath = {path:?}\n"),
        ..Options::default()
    });
    yard.origin
        .write("deep/requirements.txt", "iniconfig==2.0.0\n");
    yard.origin.commit("requirements");
    yard.origin.push(BRANCH);
    yard.start().await;
    yard
}

/// A directory for programs of a test's own.
fn bin(yard: &Yard) -> PathBuf {
    yard.dir.path().join("bin")
}

async fn configure(yard: &Yard, name: &str, kind: &str, python: &str) {
    let env = json!({ "action": "configure", "name": name, "kind": kind, "python": python });
    let path = format!("/api/repos/demo/branches/{BRANCH}/code_env");
    yard.post_json(&path, env).await;
}

async fn refused(yard: &Yard, path: &str, body: Value) -> (u16, Value) {
    problem_of(yard.post(path, body).await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_without_its_tool_or_interpreter_names_it() {
    let mut yard = yard("BIN").await;
    for (kind, python, missing) in [
        ("conda", "3.12", "conda"),
        ("uv", "3.12", "uv"),
        ("venv", "3.99", "python3.99"),
    ] {
        configure(&yard, kind, kind, python).await;
        for (path, mut body) in [
            (EXEC, json!({ "argv": ["true"] })),
            (INSTALL, json!({ "packages": ["six"] })),
        ] {
            body["code_env"] = kind.into();
            let (status, problem) = refused(&yard, path, body).await;
            assert_eq!(
                (status, &problem["code"]),
                (422, &json!("code_env_missing")),
                "{problem}"
            );
            assert_eq!(problem["field"], "code_env");
            let detail = problem["detail"].as_str().unwrap();
            let named = format!("{missing} is not on the daemon's machine");
            assert!(detail.starts_with(&named), "{detail}");
        }
    }
    let runs = yard.get_json("/api/runs?kind=exec").await;
    assert_eq!(runs["items"], json!([]), "none was started");
    yard.stop().await;
}

/// Notes the words that it is called with, a line for each call, and makes the directory that it is to make.
const CONDA: &str = "\
#!/bin/sh
echo \"$*\" >> \"$0.calls\"
test \"$1\" != create || mkdir -p \"$5/bin\"
";

fn calls(yard: &Yard) -> Vec<String> {
    let calls = std::fs::read_to_string(bin(yard).join("conda.calls")).unwrap_or_default();
    calls.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn conda_makes_an_environment_once_and_installs_into_it() {
    let mut yard = yard("BIN:/usr/bin:/bin").await;
    let conda = bin(&yard).join("conda");
    std::fs::write(&conda, CONDA).unwrap();
    std::fs::set_permissions(&conda, std::fs::Permissions::from_mode(0o755)).unwrap();
    configure(&yard, "science", "conda", "3.12").await;
    assert_eq!(calls(&yard), [""; 0], "it is made when it is first used");

    for what in [
        json!({ "packages": ["six==1.17.0", "Iniconfig>=2"] }),
        json!({ "file": "deep/requirements.txt" }),
    ] {
        let mut body = what;
        body["code_env"] = "science".into();
        let events = yard.run("install_dependencies", BRANCH, body).await;
        let end = &events.last().unwrap().data;
        assert_eq!(end["state"], "succeeded", "{end}");
    }
    let calls = calls(&yard);
    let made = calls[0]
        .strip_prefix("create --yes --quiet --prefix ")
        .unwrap();
    let prefix = made.strip_suffix(" python=3.12").unwrap();
    // With the workspace, and no file of it.
    assert!(prefix.ends_with("branchyard-envs/science"), "{prefix}");
    assert!(!Path::new(prefix).starts_with(yard.workspace(BRANCH)));
    let install = format!("install --yes --quiet --prefix {prefix}");
    assert_eq!(
        calls[1..],
        [
            format!("{install} six==1.17.0 Iniconfig>=2"),
            format!("{install} --file ./deep/requirements.txt"),
        ]
    );

    let say = "echo \"$CONDA_PREFIX\"; echo \"$PATH\"";
    let body = json!({ "argv": ["sh", "-c", say], "code_env": "science" });
    let said = text_of(&yard.run("exec", BRANCH, body).await);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], prefix);
    assert!(lines[1].starts_with(&format!("{prefix}/bin:")), "{said}");
    assert_eq!(
        git(&yard.workspace(BRANCH), &["status", "--short"]),
        "",
        "no file was made"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_package_is_refused_before_anything_runs() {
    let mut yard = yard("BIN").await;
    for package in [
        "x; rm -rf ~",
        "--index-url=http://evil.example",
        "git+https://evil.example/x",
        "../x",
    ] {
        let body = json!({ "packages": ["six", package] });
        let (status, problem) = refused(&yard, INSTALL, body).await;
        assert_eq!(
            (status, &problem["field"]),
            (422, &json!("packages[1]")),
            "{problem}"
        );
        assert_eq!(
            problem["detail"],
            format!("{package:?} is no name of a package with versions")
        );
        let help = problem["help"].as_str().unwrap();
        assert!(
            help.contains("options, addresses and paths are not taken"),
            "{help}"
        );
    }
    let runs = yard.get_json("/api/runs?kind=exec").await;
    assert_eq!(runs["items"], json!([]), "none was started");
    yard.stop().await;
}
