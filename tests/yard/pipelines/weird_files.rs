//! Workflow files that are none, or are meant to do harm, and commits that are.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{FILE, PIPELINES, contained, text};
use crate::support::{Yard, problem_of};

const GOOD: &str = "on: workflow_dispatch\njobs: {one: {runs-on: linux, steps: [{run: echo}]}}\n";

async fn answer(yard: &Yard) -> (u16, serde_json::Value) {
    problem_of(yard.post(PIPELINES, json!({"file": "ci.yml"})).await).await
}

#[tokio::test]
async fn what_stands_in_the_place_of_a_workflow_is_not_followed() {
    let mut yard = Yard::new().await;
    let outside = yard.mark("outside.yml");
    std::fs::write(&outside, GOOD).unwrap();
    let work = yard.dir.path().join("origin-work");
    let place = work.join(FILE);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    yard.origin.write("good.yml", GOOD);
    let targets = [
        outside.to_str().unwrap(),
        "../../good.yml",
        "/etc/passwd",
        "ci.yml",
    ];
    for target in targets {
        let _ = std::fs::remove_file(&place);
        symlink(target, &place).unwrap();
        yard.origin.commit("link");
        yard.origin.push("main");
        let (status, problem) = answer(&yard).await;
        assert!(status == 404 || status == 422, "{target}: {problem:#}");
        assert!(!problem.to_string().contains("root:"), "{problem:#}");
    }
    // The directory itself is a link, or a submodule.
    std::fs::remove_dir_all(work.join(".branchyard")).unwrap();
    yard.origin.write("flows/ci.yml", GOOD);
    std::fs::create_dir(work.join(".branchyard")).unwrap();
    symlink("../flows", work.join(".branchyard/workflows")).unwrap();
    yard.origin.commit("linked directory");
    yard.origin.push("main");
    assert_eq!(answer(&yard).await.0, 404);
    std::fs::remove_dir_all(work.join(".branchyard")).unwrap();
    let head = yard.origin.head();
    let entry = format!("160000,{head},.branchyard/workflows");
    yard.origin.commit("gone");
    yard.origin
        .git(&["update-index", "--add", "--cacheinfo", &entry]);
    yard.origin.git(&["commit", "-qm", "submodule"]);
    yard.origin.push("main");
    assert_eq!(answer(&yard).await.0, 404);
    yard.origin
        .git(&["rm", "-q", "--cached", ".branchyard/workflows"]);
    // A directory in its place.
    yard.origin.write(".branchyard/workflows/ci.yml/x", "x");
    yard.origin.commit("directory");
    yard.origin.push("main");
    let (status, problem) = answer(&yard).await;
    assert!(status == 404 || status == 422, "{problem:#}");
    yard.stop().await;
}

#[tokio::test]
async fn bombs_are_refused_at_once() {
    let mut yard = Yard::new().await;
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..30 {
        let before = format!("*a{}", n - 1);
        let row = vec![before; 9].join(", ");
        bomb += &format!("a{n}: &a{n} [{row}]\n");
    }
    let deep = format!("on: {}{}\njobs: {{}}\n", "[".repeat(5000), "]".repeat(5000));
    let keys: String = (0..20_000).map(|n| format!("k{n}: 1\n")).collect();
    let expression = format!(
        "on: workflow_dispatch\njobs: {{one: {{runs-on: linux, steps: [{{run: \"${{{{ {} }}}}\"}}]}}}}\n",
        "(".repeat(10_000)
    );
    let files: [Vec<u8>; 8] = [
        bomb.into_bytes(),
        deep.into_bytes(),
        keys.into_bytes(),
        expression.into_bytes(),
        vec![b'#'; (256 << 10) + 1],
        b"on: push\n\xff\xfe".to_vec(),
        b"on: &a [*a]\njobs: *a\n".to_vec(),
        b"\0\0\0".to_vec(),
    ];
    for (n, file) in files.iter().enumerate() {
        yard.origin.write(FILE, file);
        yard.origin.commit("bomb");
        yard.origin.push("main");
        let (status, problem) = answer(&yard).await;
        assert_eq!(status, 422, "{n}: {problem:#}");
        assert!(text(&problem["detail"]).len() < 20_000, "{n}");
    }
    yard.origin.write(FILE, GOOD);
    yard.origin.commit("good");
    yard.origin.push("main");
    yard.pipeline(json!({})).await.green();
    yard.stop().await;
}

/// They are shown to people, and are the names of files.
#[tokio::test]
async fn names_with_anything_in_them_stay_names() {
    let mut yard = Yard::new().await;
    for id in ["../up", "a/b", "a b", "1x", "a.b", "\"\"", "'a\tb'", "-x"] {
        let jobs = format!("  {id}: {{runs-on: linux, steps: [{{run: echo}}]}}\n");
        let problem = super::refused(&yard, &format!("on: workflow_dispatch\njobs:\n{jobs}")).await;
        assert_eq!(problem["code"], "workflow_invalid", "{id}");
    }
    let nasty = "../../x\u{1b}[31m\\r\\n<script>alert(1)</script>\u{202e}";
    let ended = yard
        .run_jobs(&format!(
            "  one:\n    name: \"{}\"\n    runs-on: linux\n    strategy: {{matrix: {{n: [\"../../../x\", \"a\\nb\"]}}}}\n    steps:\n      \
             - name: \"{}\"\n        run: echo \"$N\"\n        env: {{N: \"${{{{ matrix.n }}}}\"}}\n",
            nasty.replace('\u{1b}', "\\e"),
            nasty.replace('\u{1b}', "\\e")
        ))
        .await
        .green();
    for job in ended.jobs() {
        let id = text(&job["job"]);
        assert!(
            id.chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)),
            "{id:?}"
        );
    }
    // On disk there is nothing that is called so.
    let jobs = yard.pipeline_dir(ended.id()).join("jobs");
    assert_eq!(std::fs::read_dir(jobs).unwrap().count(), 2);
    assert!(!yard.dir.path().join("x").exists());
    // And in the text for people no escape is passed on.
    let path = format!("/stream/pipelines/{}?output=true", ended.id());
    let request = yard
        .request(reqwest::Method::GET, &path)
        .header("accept", "text/plain");
    let shown = request.send().await.unwrap().text().await.unwrap();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    yard.stop().await;
}

/// The checkout of a job neither follows nor fetches what a submodule names.
#[tokio::test]
async fn a_hostile_submodule_is_an_empty_directory() {
    let mut yard = Yard::with(contained()).await;
    let mark = yard.mark("fetched");
    yard.origin.write(
        ".gitmodules",
        format!(
            "[submodule \"../../hooks\"]\n\tpath = sub\n\turl = ext::sh -c 'touch {}'\n\tupdate = !touch {}\n",
            mark.display(),
            mark.display()
        ),
    );
    let head = yard.origin.head();
    yard.origin.commit("modules");
    yard.origin.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{head},sub"),
    ]);
    yard.origin.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{head},.git2"),
    ]);
    yard.origin.git(&["commit", "-qm", "submodule"]);
    yard.origin.write(FILE, "on: workflow_dispatch\njobs: {one: {runs-on: linux, steps: [{run: 'ls -A sub | wc -l'}]}}\n");
    yard.origin.git(&["add", ".branchyard"]);
    yard.origin.git(&["commit", "-qm", "workflow"]);
    yard.origin.push("main");
    let ended = yard.pipeline(json!({})).await.green();
    assert_eq!(yard.step_log(&ended, "one", 1).await.trim(), "0");
    assert!(!mark.exists());
    yard.stop().await;
}
