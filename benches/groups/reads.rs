//! What agents and pages ask all the time, over HTTP, beside the git command in the same directory.

use reqwest::Method;
use serde_json::{Value, json};

use crate::measure::{Report, Row, Unit, interleave};
use crate::setting::{Served, Site, git_in};
use crate::support::git;

/// Workspaces beside the one that is asked about.
const BRANCHES: usize = 3;

/// One question, as the yard and as git are asked it.
struct Question {
    name: &'static str,
    path: &'static str,
    body: Value,
    git: Vec<String>,
    /// What of the yard's answer must equal which words of git's.
    answer: fn(&Value) -> Vec<String>,
    words: Vec<String>,
}

pub async fn measure(report: &mut Report) {
    for (make, rounds) in Site::each(report, |_| BRANCHES) {
        let served = make().serve().await;
        served.prepare("main").await;
        for n in 0..BRANCHES {
            served.prepare(&format!("bench-{n}")).await;
        }
        for question in questions(&served) {
            ask(report, &served, &question, rounds.max(9)).await;
        }
        served.stop().await;
    }
    log_of_a_path(report).await;
}

/// Of a long history, in which few commits touch the path.
async fn log_of_a_path(report: &mut Report) {
    let served = Site::of_commits(report.scale.of(120_000, 400))
        .serve()
        .await;
    served.prepare("main").await;
    let path = "part/7.txt";
    let words = ["log", "-20", "--format=%H", "--", path];
    let question = Question {
        name: "log -20 of a path",
        path: "git/log",
        body: json!({ "count": 20, "path": path }),
        git: words.map(str::to_owned).to_vec(),
        answer: |answer| texts(&answer["commits"], "id"),
        words: git(&served.workspace("main"), &words)
            .lines()
            .map(str::to_owned)
            .collect(),
    };
    ask(report, &served, &question, 21).await;
    served.stop().await;
}

async fn ask(report: &mut Report, served: &Served, question: &Question, rounds: usize) {
    let rounds = report.scale.rounds(rounds);
    let dir = served.workspace("main");
    let words: Vec<_> = question.git.iter().map(String::as_str).collect();
    let path = format!("/api/repos/demo/branches/main/{}", question.path);
    let [plain, yard] = interleave(rounds, async |method, _| match method {
        0 => git_in(&dir, &words),
        _ => {
            let (took, answer) = served
                .timed(Method::POST, &path, Some(&question.body))
                .await;
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            let found = (question.answer)(&answer);
            assert_eq!(found, question.words, "{}: {answer}", question.name);
            took
        }
    })
    .await;
    let name = format!("{}, {}", question.name, served.site.label);
    let against = format!("git {}", question.git[0]);
    report.add(Row::new(name, Unit::Seconds, &yard).beside(against, &plain));
}

fn questions(served: &Served) -> Vec<Question> {
    let dir = served.workspace("main");
    let lines =
        |args: &[&str]| -> Vec<String> { git(&dir, args).lines().map(str::to_owned).collect() };
    // A file somewhere in the middle, with a change to tell of.
    let files = lines(&["ls-files"]);
    let file = files[files.len() / 2].clone();
    let text = std::fs::read_to_string(dir.join(&file)).unwrap_or_default();
    std::fs::write(dir.join(&file), format!("{text}changed\n")).unwrap();
    let parent = file.rsplit_once('/').map_or("", |(parent, _)| parent);
    let siblings = lines(&["ls-tree", "--name-only", &format!("HEAD:{parent}")]);
    let git = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect();
    let spelled = format!("HEAD:{file}");
    let place = format!("HEAD:{parent}");
    let mut branches = lines(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    branches.sort();
    vec![
        Question {
            name: "status",
            path: "git/status",
            body: json!({}),
            git: git(&["status", "--porcelain=v2"]),
            answer: |answer| texts(&answer["unstaged"], "path"),
            words: vec![file.clone()],
        },
        Question {
            name: "diff",
            path: "git/diff",
            body: json!({}),
            git: git(&["diff"]),
            answer: |answer| texts(&answer["files"], "path"),
            words: vec![file.clone()],
        },
        Question {
            name: "log -20",
            path: "git/log",
            body: json!({ "count": 20 }),
            git: git(&["log", "-20"]),
            answer: |answer| texts(&answer["commits"], "id"),
            words: lines(&["log", "-20", "--format=%H"]),
        },
        Question {
            name: "branches",
            path: "git/branch",
            body: json!({ "action": "list" }),
            git: git(&["branch", "--list"]),
            answer: |answer| texts(&answer["branches"], "name"),
            words: branches,
        },
        Question {
            name: "read a file",
            path: "read_file",
            body: json!({ "path": file }),
            git: git(&["show", &spelled]),
            answer: |answer| vec![answer["path"].as_str().unwrap().to_owned()],
            words: vec![file.clone()],
        },
        Question {
            name: "list a directory",
            path: "ls",
            body: json!({ "path": parent, "all": true }),
            git: git(&["ls-tree", &place]),
            answer: |answer| {
                let paths = texts(&answer["entries"], "path").into_iter();
                let name = |path: String| path.rsplit('/').next().unwrap_or_default().to_owned();
                paths.map(name).collect()
            },
            words: siblings,
        },
    ]
}

/// This field of each item of a list.
fn texts(list: &Value, field: &str) -> Vec<String> {
    let list = list.as_array().unwrap();
    let text = |item: &Value| item[field].as_str().unwrap().to_owned();
    list.iter().map(text).collect()
}
