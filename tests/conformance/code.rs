//! Agents that write, run and test code, by the official client and by these tools alone.

use serde_json::{Value, json};

use crate::agent_tasks::{branch, call, client, clone, cost, start, text};
use crate::installed::at;
use crate::support::{Options, Yard, git, until};

/// Each works on a branch of its own.
const AGENTS: usize = 8;

fn contained(repo: &str) -> Yard {
    Yard::asleep(Options {
        tables: format!(
            "[sandbox]\nprofile = \"standard\"\nbinds_read_only = [{:?}, {:?}]\n[build]\npath = {:?}\n",
            at("wheels"),
            at("bin"),
            format!("/usr/local/bin:/usr/bin:/bin:{}", at("bin").display())
        ),
        repo: repo.to_owned(),
        ..Options::default()
    })
}

/// Whatever a kill cut off is done again; what was done before it counts.
fn again(mut step: Value, done: &str) -> Value {
    step["again"] = json!(20);
    step["done"] = json!(done);
    step
}

const TEST: &str = "\
import unittest
from total import total

class Total(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2, 3]), 6)
";

/// The agent whose second test runs until it is let go on.
const GATED: usize = 0;
const GATE: &str =
    "touch begun; while [ ! -e open ]; do sleep 0.05; done; exec python3 -m unittest -q";

#[tokio::test(flavor = "multi_thread")]
async fn eight_agents_go_from_a_failing_test_to_a_push_over_a_kill() {
    let mut yard = contained("");
    yard.origin.push("work");
    let mut daemon = start(&mut yard).await;
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..AGENTS {
        let (agent, dir) = (number.to_string(), yard.dir.path().to_owned());
        let of = branch(&agent);
        let write = |path: &str, content: &str| {
            let file = json!({ "path": path, "content": content, "mode": "overwrite" });
            again(call("write_file", &of, file), "")
        };
        let run = |key: &str| {
            let argv = match (key, number) {
                ("after", GATED) => json!(["sh", "-c", GATE]),
                _ => json!(["python3", "-m", "unittest", "-q"]),
            };
            let key = format!("{key}-{number}");
            let tests = json!({ "argv": argv, "idempotency_key": key, "wait": 50 });
            again(call("exec", &of, tests), "")
        };
        let steps = vec![
            again(clone(&agent, "work"), ""),
            write("test_total.py", TEST),
            run("before"),
            write("total.py", "def total(numbers):\n    return sum(numbers)\n"),
            run("after"),
            again(
                call(
                    "git_push",
                    &of,
                    json!({ "message": "Add total", "paths": ["total.py", "test_total.py"] }),
                ),
                "",
            ),
        ];
        clients.spawn(client(dir, steps));
    }
    let bare = yard.origin.bare.clone();
    let arrived = || {
        git(
            &bare,
            &[
                "for-each-ref",
                "--format=%(refname:short)",
                "refs/heads/agent-*",
            ],
        )
    };
    until("one arrived", || !arrived().is_empty()).await;
    let gated = branch(&GATED.to_string());
    let workspace = yard.workspace(&gated);
    until("a test runs", || workspace.join("begun").exists()).await;
    let path = format!("/api/runs?kind=exec&repo=demo&branch={gated}&limit=1");
    let running = yard.get_json(&path).await["items"][0].clone();
    assert_eq!(running["state"], "running", "{running}");
    daemon.kill().await;
    let pushed = arrived();
    assert!(
        !pushed.lines().any(|branch| branch == gated),
        "one has pushed nothing yet: {pushed}"
    );
    daemon = start(&mut yard).await;
    std::fs::write(workspace.join("open"), "").unwrap();
    // The command that ran over the kill is the one that ends.
    let ended = yard.ended(running["run_id"].as_str().unwrap()).await;
    assert_eq!(ended["state"], "succeeded", "{ended}");
    while let Some(report) = clients.join_next().await {
        let report = report.unwrap();
        let (failed, passed) = (text(&report[2]), text(&report[4]));
        assert!(
            failed.contains("failed") && failed.contains("No module named 'total'"),
            "{failed}"
        );
        assert!(
            passed.contains("succeeded") && passed.contains("OK"),
            "{passed}"
        );
        cost("a test first", &report, 20_000);
    }
    for number in 0..AGENTS {
        let of = branch(&number.to_string());
        let log = git(&bare, &["log", "--format=%s", &format!("work..{of}")]);
        assert_eq!(log, "Add total", "{of}");
    }
    daemon.stop().await;
}

const FEATURE: &str = "\
--- a/lib/area.py
+++ b/lib/area.py
@@ -1,2 +1,5 @@
 def square(side):
     return side * side
+
+def circle(radius):
+    return 3 * radius * radius
--- a/main.py
+++ b/main.py
@@ -1,3 +1,4 @@
-from lib.area import square
+from lib.area import circle, square
 
 print(square(2))
+print(circle(1))
--- /dev/null
+++ b/tests.sh
@@ -0,0 +1,2 @@
+set -e
+test \"$(python3 main.py | tail -n 1)\" = 3
";

#[tokio::test(flavor = "multi_thread")]
async fn a_feature_across_three_files_is_one_patch() {
    let mut yard = contained("");
    yard.origin
        .write("lib/area.py", "def square(side):\n    return side * side\n");
    yard.origin.write(
        "main.py",
        "from lib.area import square\n\nprint(square(2))\n",
    );
    yard.origin.commit("a program");
    yard.origin.push("work");
    let mut daemon = start(&mut yard).await;
    let of = branch("a");
    let report = client(
        yard.dir.path().to_owned(),
        vec![
            clone("a", "work"),
            call("apply_patch", &of, json!({ "patch": FEATURE })),
            call("exec", &of, json!({ "argv": ["sh", "tests.sh"] })),
            call(
                "git_push",
                &of,
                json!({ "message": "Add circles", "paths": ["."] }),
            ),
        ],
    )
    .await;
    assert!(
        text(&report[2]).contains("succeeded"),
        "{}",
        text(&report[2])
    );
    let files = git(&yard.origin.bare, &["diff", "--name-only", "work", &of]);
    assert_eq!(files, "lib/area.py\nmain.py\ntests.sh");
    cost("a feature across three files", &report, 8_000);
    daemon.stop().await;
}

/// The flows of the public code executor, by our tools (docs/CODE.md), in environments of each kind that is there.
#[tokio::test(flavor = "multi_thread")]
async fn every_flow_of_the_public_code_executor_is_there() {
    let wheels = at("wheels").display().to_string();
    let mut yard = contained(&format!(
        "env = {{ PIP_NO_INDEX = \"1\", PIP_FIND_LINKS = {wheels:?}, UV_OFFLINE = \"1\", UV_FIND_LINKS = {wheels:?}, \
         UV_PYTHON_DOWNLOADS = \"never\" }}\n"
    ));
    yard.origin.push("work");
    let mut daemon = start(&mut yard).await;
    let of = branch("a");
    let code = "import six\nprint('six', six.__version__)\n";
    let execute = |env: &str| {
        let code = json!({ "language": "python", "code": code, "code_env": env });
        call("execute_code", &of, code)
    };
    for (env, kind) in [("default", "venv"), ("quick", "uv")] {
        let report = client(
            yard.dir.path().to_owned(),
            vec![
                clone("a", "work"),
                // configure_environment, get_environment_config
                call(
                    "code_env",
                    &of,
                    json!({ "action": "configure", "name": env, "kind": kind }),
                ),
                call("code_env", &of, json!({ "action": "get", "name": env })),
                // execute_code, install_dependencies, check_installed_packages
                execute(env),
                call(
                    "check_installed_packages",
                    &of,
                    json!({ "packages": ["six", "Iniconfig"], "code_env": env }),
                ),
                call(
                    "install_dependencies",
                    &of,
                    json!({ "packages": ["six==1.17.0"], "code_env": env }),
                ),
                call(
                    "check_installed_packages",
                    &of,
                    json!({ "packages": ["six", "Iniconfig"], "code_env": env }),
                ),
                execute(env),
                // initialize_code_file, append_to_code_file, read_code_file, execute_code_file
                call(
                    "write_file",
                    &of,
                    json!({ "path": "a.py", "content": "import six\n", "mode": "overwrite" }),
                ),
                call(
                    "write_file",
                    &of,
                    json!({ "path": "a.py", "content": "print(six.PY3)\n", "mode": "append" }),
                ),
                call("read_file", &of, json!({ "path": "a.py" })),
                call(
                    "exec",
                    &of,
                    json!({ "argv": ["python", "a.py"], "code_env": env }),
                ),
            ],
        )
        .await;
        let said: Vec<_> = report.iter().map(text).collect();
        assert!(said[2].contains(&format!("{env}: {kind}")), "{}", said[2]);
        assert!(
            said[3].contains("install_dependencies with packages [\"six\"]"),
            "{}",
            said[3]
        );
        assert!(
            said[4].contains("six: missing") && said[4].contains("Iniconfig: missing"),
            "{}",
            said[4]
        );
        assert!(said[5].contains("succeeded"), "{}", said[5]);
        assert!(
            said[6].contains("six 1.17.0") && said[6].contains("Iniconfig: missing"),
            "{}",
            said[6]
        );
        assert!(said[7].contains("six 1.17.0"), "{}", said[7]);
        assert!(said[10].contains("print(six.PY3)"), "{}", said[10]);
        assert!(said[11].contains("True"), "{}", said[11]);
    }
    // Environments are apart from the worktree.
    assert_eq!(git(&yard.workspace(&of), &["status", "--short"]), "?? a.py");
    daemon.stop().await;
}
