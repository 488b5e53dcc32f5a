//! What a job may not make an artifact of, and what becomes of one that is too much.

use serde_json::{Value, json};

use super::{contained, text};
use crate::support::{Options, Resource, SmallYard, Yard};

/// A job with one step that makes files and one that uploads them with this `with`.
fn job(name: &str, script: &str, with: &str) -> String {
    format!(
        "  {name}:\n    runs-on: linux\n    steps:\n      - run: |\n          {}\n      - uses: actions/upload-artifact@v4\n        with: {with}\n",
        script.replace('\n', "\n          ")
    )
}

fn codes(job: &Value) -> Vec<&str> {
    let warnings = job["warnings"].as_array().into_iter().flatten();
    warnings.map(|warning| text(&warning["code"])).collect()
}

#[tokio::test]
async fn nothing_from_outside_of_the_worktree_gets_in() {
    for options in [Options::default(), contained()] {
        let mut yard = Yard::with(options).await;
        let secret = yard.mark("secret");
        std::fs::write(&secret, "secret\n").unwrap();
        let links = format!(
            "mkdir dist; ln -s {0} dist/link; ln -s /etc dist/etc; ln -s ../.. dist/up; ln {0} dist/hard 2>/dev/null || true; \
             mkfifo dist/fifo; touch dist/.hidden; echo good > dist/good; mkdir dist/.git; touch dist/.git/x",
            secret.display()
        );
        let jobs = [
            job("links", &links, "{name: links, path: dist}"),
            job("up", "true", "{name: up, path: ../secret}"),
            job("deep", "mkdir a", "{name: deep, path: a/../../../x}"),
            job("root", "true", "{name: root, path: /etc/passwd}"),
            job(
                "home",
                "true",
                "{name: home, path: ~/../../../../../../etc/passwd}",
            ),
            job("glob", "true", "{name: glob, path: '**/../../**'}"),
            job(
                "inside",
                &format!("ln -s {} name", yard.dir.path().display()),
                "{name: inside, path: name/secret}",
            ),
            job("state", "true", "{name: state, path: .git}"),
        ];
        let ended = yard.run_jobs(&jobs.concat()).await;
        assert_eq!(ended.job("links")["state"], "succeeded", "{:#}", ended.0);
        let path = format!("/api/pipelines/{}/artifacts", ended.id());
        let sets = yard.get_json(&path).await;
        let names: Vec<_> = sets["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|set| text(&set["name"]))
            .collect();
        assert_eq!(names, ["links"], "{sets:#}");
        let files: Vec<_> = sets["items"][0]["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| text(&file["path"]))
            .collect();
        let expected: &[&str] = match files.contains(&"hard") {
            // Without a sandbox, a step may read what it wants, and link to it.
            true => &["good", "hard"],
            false => &["good"],
        };
        assert_eq!(files, expected);
        let mut found = codes(ended.job("links"));
        found.sort_unstable();
        assert!(
            found.contains(&"links_left_out") && found.contains(&"special_files_left_out"),
            "{found:?}"
        );
        for name in ["up", "deep", "root", "home"] {
            let step = &ended.job(name)["steps"][1];
            assert_eq!(step["state"], "failed", "{name}: {step:#}");
        }
        yard.stop().await;
    }
}

#[tokio::test]
async fn names_that_are_no_names_are_refused() {
    let mut yard = Yard::new().await;
    let wrong = ["a/b", "../a", "a\\\\b", "a:b", "a\\nb", "a\\e[31m", "a*"];
    let mut jobs = String::new();
    for (n, name) in wrong.iter().enumerate() {
        jobs += &job(
            &format!("j{n}"),
            "true",
            &format!("{{name: \"{name}\", path: name.txt}}"),
        );
    }
    for (n, name) in ["..", ".", "con.json", "ünï", "x y"].iter().enumerate() {
        jobs += &job(
            &format!("k{n}"),
            "true",
            &format!("{{name: \"{name}\", path: name.txt}}"),
        );
    }
    yard.jobs(&jobs);
    let ended = yard.pipeline(json!({})).await;
    for n in 0..wrong.len() {
        assert_eq!(
            ended.job(&format!("j{n}"))["state"],
            "failed",
            "{:#}",
            ended.0
        );
    }
    for n in 0..5 {
        assert_eq!(
            ended.job(&format!("k{n}"))["state"],
            "succeeded",
            "{:#}",
            ended.0
        );
    }
    let sets = yard.workspaces.join(".branchyard/artifacts/sets");
    let files = crate::support::each_file(&sets, &mut |path, _| {
        assert_eq!(path.extension().unwrap(), "json");
    });
    assert_eq!(files, 5);
    yard.stop().await;
}

#[tokio::test]
async fn too_many_files_or_bytes_are_no_artifact() {
    let mut yard = Yard::with(Options {
        tables: "[artifacts]\nmax_size = \"1MiB\"".to_owned(),
        ..Options::default()
    })
    .await;
    let many = "mkdir many; cd many; seq 10001 | xargs touch";
    let big = "head -c 2000000 /dev/zero > big";
    let half = "head -c 700000 /dev/urandom > half; cp half other";
    let both = job("both", half, "{name: one, path: half}")
        + "      - uses: actions/upload-artifact@v4\n        with: {name: two, path: other}\n";
    let jobs = [
        job("many", many, "{name: many, path: many}"),
        job("big", big, "{name: big, path: big}"),
        both,
        job(
            "none",
            "true",
            "{name: none, path: none, if-no-files-found: error}",
        ),
        job("warns", "true", "{name: none, path: none}"),
    ];
    let ended = yard.run_jobs(&jobs.concat()).await;
    assert_eq!(
        ended.states(),
        [
            "many failed",
            "big failed",
            "both failed",
            "none failed",
            "warns succeeded"
        ]
    );
    let reason = |job: &str| text(&ended.job(job)["reason"]).to_owned();
    assert!(reason("many").contains("10000 files"), "{}", reason("many"));
    assert!(
        reason("big").contains("artifacts.max_size"),
        "{}",
        reason("big")
    );
    assert_eq!(
        ended.steps("both"),
        ["1 succeeded", "2 succeeded", "3 failed"]
    );
    assert_eq!(codes(ended.job("warns")), ["no_files_found"]);
    let path = format!("/api/pipelines/{}/artifacts", ended.id());
    let sets = yard.get_json(&path).await;
    assert_eq!(sets["items"].as_array().unwrap().len(), 1, "{sets:#}");
    yard.stop().await;
}

/// The step fails and says why; the daemon goes on, and with room again everything is there that was.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_the_step_and_loses_nothing() {
    let Some(mut small) = SmallYard::new(64, 4000, Options::default()) else {
        return;
    };
    let yard = &mut small.yard;
    let up = yard.mark("up");
    let go = yard.mark("go");
    let gate = format!(
        "head -c 12000000 /dev/urandom > big; touch {}; while [ ! -e {} ]; do sleep 0.01; done",
        up.display(),
        go.display()
    );
    let uploads = job("build", "echo small > x", "{name: kept, path: x}");
    let workflow = uploads
        + &format!(
            "      - run: {gate}\n      - uses: actions/upload-artifact@v4\n        with: {{name: big, path: big}}\n"
        )
        + "  after: {needs: build, if: always(), runs-on: linux, steps: [{run: echo after}]}\n";
    yard.jobs(&workflow);
    yard.start().await;
    let id = yard.start_pipeline(json!({})).await;
    crate::support::until("the step is there", || up.exists()).await;
    small.disk.fill(Resource::Bytes, 4 << 20);
    std::fs::write(&go, "").unwrap();
    let yard = &mut small.yard;
    let job = yard.until_job(&id, "build", "failed").await;
    let reason = job["reason"].as_str().map(str::to_owned);
    small.disk.empty();
    let yard = &mut small.yard;
    let ended = yard.pipeline_ended(&id).await;
    let reason = reason.unwrap_or_else(|| text(&ended.job("build")["reason"]).to_owned());
    assert!(reason.contains("step 4"), "{reason}");
    assert_eq!(yard.artifact_file(&id, "kept", "x").await, "small\n");
    let retry = format!("/api/pipelines/{id}/retry");
    yard.post_json(&retry, json!({})).await;
    let ended = yard.pipeline_ended(&id).await.green();
    assert_eq!(ended.states(), ["build succeeded", "after succeeded"]);
    let path = format!("/api/pipelines/{id}/artifacts/big");
    assert_eq!(yard.get_json(&path).await["bytes"], 12_000_000);
    yard.stop().await;
}
