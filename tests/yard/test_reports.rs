//! Tests as data: read from reports or the output, compared with earlier runs, told by every face.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Agent, Event, Options, PROGRAM, Yard, problem_of, warnings_of};

/// Prints what `results` says as cargo test does, or writes it as a JUnit report where there is a `junit`.
const MAKEFILE: &str = "\
test:
\t@if [ -e junit ]; then sh write.sh > junit.xml; else cat results; fi
\t@! grep -q FAILED results
";
const WRITE: &str = "\
echo '<testsuite name=\"s\">'
sed -n 's/^test \\(.*\\) \\.\\.\\. ok$/<testcase classname=\"s\" name=\"\\1\"\\/>/p; \
s/^test \\(.*\\) \\.\\.\\. FAILED$/<testcase classname=\"s\" name=\"\\1\"><failure message=\"of '\"$WORD\"'\"\\/><\\/testcase>/p' results
echo '</testsuite>'
";

fn results(states: &[(&str, bool)]) -> String {
    let line = |(name, passed): &(&str, bool)| {
        let state = if *passed { "ok" } else { "FAILED" };
        format!("test {name} ... {state}\n")
    };
    let failed = states.iter().filter(|(_, passed)| !passed).count();
    let passed = states.len() - failed;
    let lines: String = states.iter().map(line).collect();
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    format!(
        "running {} tests\n{lines}\ntest result: {verdict}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        states.len()
    )
}

impl Yard {
    fn commit_results(&self, branch: &str, states: &[(&str, bool)]) {
        self.origin.write("results", results(states));
        self.origin.commit("results");
        self.origin.push(branch);
    }

    /// Runs the tests of a branch; the record of the run.
    async fn test(&self, branch: &str, body: Value) -> Value {
        let events = self.run("test", branch, body).await;
        let id = run_of(&events);
        self.get_json(&format!("/api/runs/{id}")).await
    }

    /// The names of the tests of a run, with their verdicts.
    async fn verdicts(&self, run: &Value) -> Vec<(String, String)> {
        let id = run["run_id"].as_str().unwrap();
        let page = self.get_json(&format!("/api/runs/{id}/tests")).await;
        let told = |test: &Value| {
            let verdict = test["verdict"].as_str().unwrap_or("-").to_owned();
            (test["name"].as_str().unwrap().to_owned(), verdict)
        };
        page["items"].as_array().unwrap().iter().map(told).collect()
    }
}

fn run_of(events: &[Event]) -> String {
    let queued = events.iter().find(|event| event.kind == "status").unwrap();
    queued.data["run_id"].as_str().unwrap().to_owned()
}

fn yard(options: Options) -> Yard {
    let yard = Yard::asleep(options);
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.write("write.sh", WRITE);
    yard.origin.write(".gitignore", "junit.xml\n");
    yard
}

fn told(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, verdict): &(&str, &str)| ((*name).to_owned(), (*verdict).to_owned());
    pairs.iter().map(owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn new_known_and_flaky_failures_are_told_apart() {
    let mut yard = yard(Options::default());
    yard.commit_results(
        "main",
        &[("a", true), ("b", false), ("c", true), ("d", true)],
    );
    yard.commit_results(
        "topic",
        &[("a", false), ("b", false), ("c", true), ("e", false)],
    );
    yard.start().await;
    let of_main = yard.test("main", json!({})).await;
    assert_eq!(of_main["state"], "failed");
    assert_eq!(of_main["tests"]["passed"], 3, "{of_main}");
    assert_eq!(of_main["argv"], json!(["make", "test"]));

    let of_topic = yard.test("topic", json!({})).await;
    let expected = [("a", "new"), ("b", "known"), ("e", "-"), ("c", "-")];
    assert_eq!(yard.verdicts(&of_topic).await, told(&expected));
    let counts = json!({"passed": 1, "failed": 3, "skipped": 0, "new": 1, "known": 1, "flaky": 0});
    assert_eq!(of_topic["tests"], counts);
    assert!(of_topic["tested_tree"].is_string(), "{of_topic}");

    let id = of_topic["run_id"].as_str().unwrap();
    let page = yard
        .get_json(&format!("/api/runs/{id}/tests?state=failed&limit=2"))
        .await;
    assert_eq!(page["next"], 2, "{page}");
    let rest = yard
        .get_json(&format!("/api/runs/{id}/tests?state=failed&limit=2&from=2"))
        .await;
    assert_eq!(rest["items"][0]["name"], "e", "{rest}");
    assert_eq!(rest["next"], Value::Null);
    let new = yard
        .get_json(&format!("/api/runs/{id}/tests?verdict=new"))
        .await;
    assert_eq!(new["items"].as_array().unwrap().len(), 1, "{new}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_comes_and_goes_on_one_tree_is_flaky() {
    let mut yard = yard(Options::default());
    // Every fifth time it fails; how often it ran is known outside of the workspace.
    let count = yard.dir.path().join("count");
    let makefile = format!(
        "test:\n\t@echo x >> {count}\n\t@if [ $$(($$(wc -l < {count}) % 5)) = 3 ]; then cat bad; exit 1; else cat good; fi\n",
        count = count.display()
    );
    yard.origin.write("Makefile", makefile);
    yard.origin
        .write("good", results(&[("a", true), ("b", true)]));
    yard.origin
        .write("bad", results(&[("a", false), ("b", true)]));
    yard.origin.commit("flaky");
    yard.origin.push("main");
    yard.start().await;
    let mut last = Value::Null;
    for _ in 0..10 {
        last = yard.test("main", json!({})).await;
    }
    assert_eq!(last["state"], "succeeded");
    assert_eq!(
        yard.verdicts(&last).await,
        told(&[("a", "flaky"), ("b", "-")])
    );
    assert_eq!(last["tests"]["flaky"], 1);
    // An edit makes it another tree, of which nothing is known.
    std::fs::write(yard.workspace("main").join("good"), "edited\n").unwrap();
    let edited = yard.test("main", json!({})).await;
    assert_eq!(edited["tested_tree"], Value::Null, "{edited}");
    assert_eq!(warnings(&edited), ["left_alone", "no_tests_found"]);
    yard.stop().await;
}

fn warnings(run: &Value) -> Vec<&str> {
    let warnings = run["warnings"].as_array().unwrap().iter();
    warnings
        .map(|warning| warning["code"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_counts_before_the_output_and_hides_what_is_secret() {
    let mut yard = yard(Options {
        repo: "allow_env = [\"WORD\", \"API_TOKEN\"]\n".to_owned(),
        ..Options::default()
    });
    yard.origin.write("junit", "");
    yard.commit_results("main", &[("a", true), ("b", false)]);
    yard.start().await;
    let secret = "S3cret-of-the-caller";
    let body = json!({"env": {"WORD": secret, "API_TOKEN": secret}});
    let run = yard.test("main", body).await;
    assert_eq!(run["tests"]["failed"], 1, "{run}");
    let id = run["run_id"].as_str().unwrap();
    let page = yard.get_json(&format!("/api/runs/{id}/tests")).await;
    assert_eq!(page["items"][0]["suite"], "s", "{page}");
    let message = page["items"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("of ") && !message.contains(secret),
        "{message}"
    );
    let kept = std::fs::read_to_string(yard.run_dir(id).join("tests.json")).unwrap();
    assert!(!kept.contains(secret));

    let refused = yard
        .post(
            "/stream/repos/demo/branches/main/make",
            json!({"base": "main"}),
        )
        .await;
    assert_eq!(problem_of(refused).await.1["field"], "base");
    let events = yard
        .run(
            "make",
            "main",
            json!({"args": ["-n", "test"], "tests": true}),
        )
        .await;
    assert_eq!(warnings_of(&events), ["no_tests_found"]);
    let broken = json!({"args": ["test"], "tests": true, "reports": ["results"]});
    let events = yard.run("make", "main", broken).await;
    assert_eq!(
        warnings_of(&events),
        ["no_tests_found"],
        "tracked files are no reports"
    );
    let green = json!({"args": ["-i", "test"], "tests": true});
    let events = yard.run("make", "main", green).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    assert_eq!(warnings_of(&events), ["tests_failed"]);
    // And a run that was not asked for them has none.
    let plain = run_of(&yard.make("main", &["-n", "test"]).await);
    let refused = yard.get(&format!("/api/runs/{plain}/tests")).await;
    assert_eq!(problem_of(refused).await.1["code"], "no_tests");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_and_people_are_told_what_failed_first() {
    let mut yard = yard(Options {
        repo: "[repos.demo.tasks]\ntest = [\"make\", \"test\"]\n".to_owned(),
        ..Options::default()
    });
    yard.commit_results("main", &[("a", true), ("bad", false)]);
    yard.start().await;
    let agent = Agent::new(&yard);
    let place = json!({"repo": "demo", "branch": "main"});
    let outcome = agent.call("test", place).await;
    assert_eq!(outcome["state"], "failed", "{outcome}");
    assert_eq!(outcome["tests"]["failed"], 1, "{outcome}");
    assert_eq!(outcome["failed_tests"][0]["name"], "bad", "{outcome}");

    let mut said = Command::new(PROGRAM);
    said.args(["--url", &yard.url, "test", "demo", "main"]);
    said.env(
        "BRANCHYARD_KEY_FILE",
        yard.workspaces.join(".branchyard/auth.header"),
    );
    let said = tokio::task::spawn_blocking(move || said.output().unwrap())
        .await
        .unwrap();
    assert_eq!(
        said.status.code(),
        Some(2),
        "make's own exit code: {said:?}"
    );
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(text.ends_with("failed (known): bad\n"), "{text}");
    let notes = String::from_utf8(said.stderr).unwrap();
    assert!(notes.contains("1 failed (1 known), 1 passed"), "{notes}");
    yard.stop().await;
}

/// The bounds of an answer, and of what is kept, whatever a report holds.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_megabytes_of_ten_thousand_tests_are_a_short_answer() {
    let mut yard = yard(Options::default());
    let program = "import sys\n\
        w = sys.stdout.write\n\
        w('<testsuites><testsuite name=\"s\">')\n\
        for n in range(10000):\n    \
            bad = '<failure message=\"m%d\">%s</failure>' % (n, 'x' * 100000) if n % 20 == 19 else '<system-out>' + 'y' * 100 + '</system-out>'\n    \
            w('<testcase classname=\"c\" name=\"t%d\" time=\"0.001\">%s</testcase>' % (n, bad))\n\
        w('</testsuite></testsuites>')\n";
    yard.origin.write("write.py", program);
    yard.origin.write(
        "Makefile",
        "test:\n\t@python3 write.py > junit.xml; ls -l junit.xml; exit 1\n",
    );
    yard.origin.commit("many");
    yard.origin.push("main");
    yard.start().await;
    let agent = Agent::new(&yard);
    let result = agent
        .tool("test", json!({"repo": "demo", "branch": "main"}))
        .await;
    let outcome = &result["structuredContent"];
    assert_eq!(outcome["tests"]["failed"], 500, "{outcome}");
    assert_eq!(outcome["tests"]["passed"], 9500);
    assert_eq!(outcome["failed_tests"][0]["name"], "t19");
    assert!(outcome.to_string().len() <= 20_000);
    let run = outcome["run_id"].as_str().unwrap();
    let kept = std::fs::metadata(yard.run_dir(run).join("tests.json")).unwrap();
    assert!(kept.len() < 8 << 20, "{} bytes", kept.len());
    let last = yard
        .get_json(&format!("/api/runs/{run}/tests?from=9999"))
        .await;
    assert_eq!(
        last["items"][0]["name"], "t9998",
        "those that passed are last: {last}"
    );
    yard.stop().await;
}
