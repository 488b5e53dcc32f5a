//! What each forge sends.

use branchyard_forge::{HookNews, PullNews};

use super::read;

fn sample(path: &str) -> Vec<u8> {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
    std::fs::read(format!("{samples}/{path}.json")).unwrap()
}

fn pull_12(title: &str) -> PullNews {
    PullNews {
        number: 12,
        title: title.to_owned(),
        base: "main".to_owned(),
        head: "feature/dates".to_owned(),
        git_ref: "refs/pull/12/head".to_owned(),
        is_open: true,
        repo: Some("orchard/yard".to_owned()),
    }
}

/// The news of a sample with these headers, whose first one names the event.
fn news(headers: &[(&str, &str)], path: &str) -> HookNews {
    let hook = read(headers, &sample(path)).unwrap();
    assert_eq!(hook.event, headers[0].1);
    hook.news
}

#[test]
fn github() {
    let of = |event| news(&[("x-github-event", event)], &format!("github/{event}"));
    for event in ["push", "create", "delete", "merge_group"] {
        assert_eq!(of(event), HookNews::Refs, "{event}");
    }
    assert_eq!(of("ping"), HookNews::Nothing);
    let pull = pull_12("Read dates with ümlauts");
    assert_eq!(of("pull_request"), HookNews::Pull(pull));
}

#[test]
fn github_as_a_form() {
    let json = String::from_utf8(sample("github/pull_request")).unwrap();
    let form: String = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("payload", &json)
        .finish();
    let headers = [
        ("x-github-event", "pull_request"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let pull = pull_12("Read dates with ümlauts");
    let hook = read(&headers, form.as_bytes()).unwrap();
    assert_eq!(hook.news, HookNews::Pull(pull));
}

#[test]
fn gitlab() {
    let of = |event, path| news(&[("x-gitlab-event", event)], &format!("gitlab/{path}"));
    assert_eq!(of("Push Hook", "push_hook"), HookNews::Refs);
    assert_eq!(of("Tag Push Hook", "tag_push_hook"), HookNews::Refs);
    assert_eq!(of("Issue Hook", "issue_hook"), HookNews::Nothing);
    let pull = HookNews::Pull(PullNews {
        git_ref: "refs/merge-requests/12/head".to_owned(),
        repo: Some("orchard/tools/yard".to_owned()),
        ..pull_12("Draft: read dates")
    });
    assert_eq!(of("Merge Request Hook", "merge_request_hook"), pull);
    assert_eq!(of("System Hook", "merge_request_hook"), pull);
    assert_eq!(of("System Hook", "system_push"), HookNews::Refs);
    assert_eq!(of("System Hook", "tag_push_hook"), HookNews::Refs);
    assert_eq!(
        of("System Hook", "system_repository_update"),
        HookNews::Refs
    );
    assert_eq!(of("System Hook", "system_user_create"), HookNews::Nothing);
}

/// Gitea sends the headers of the forges before it, too.
#[test]
fn gitea() {
    let of = |event, path: &str| {
        let headers = ["x-gitea-event", "x-gogs-event", "x-github-event"];
        news(&headers.map(|name| (name, event)), &format!("gitea/{path}"))
    };
    assert_eq!(of("push", "push"), HookNews::Refs);
    let pull = HookNews::Pull(pull_12("Read dates"));
    assert_eq!(of("pull_request", "pull_request"), pull);
    assert_eq!(of("pull_request_sync", "pull_request"), pull);
    assert_eq!(of("pull_request_label", "pull_request"), pull);
    for review in ["pull_request_comment", "pull_request_approved"] {
        assert_eq!(of(review, "pull_request_comment"), HookNews::Nothing);
    }
}

#[test]
fn forgejo() {
    let of = |event, path: &str| {
        let headers = [
            "x-forgejo-event",
            "x-gitea-event",
            "x-gogs-event",
            "x-github-event",
        ];
        news(
            &headers.map(|name| (name, event)),
            &format!("forgejo/{path}"),
        )
    };
    assert_eq!(of("delete", "delete"), HookNews::Refs);
    let merged = PullNews {
        head: "refs/pull/12/head".to_owned(),
        is_open: false,
        ..pull_12("Read dates")
    };
    assert_eq!(of("pull_request", "pull_request"), HookNews::Pull(merged));
}

#[test]
fn merge_requests_are_open_until_they_are_merged_or_closed() {
    let json = String::from_utf8(sample("gitlab/merge_request_hook")).unwrap();
    for (state, is_open) in [
        ("opened", true),
        ("locked", true),
        ("merged", false),
        ("closed", false),
        ("", false),
    ] {
        let state = format!("\"state\": \"{state}\"");
        let json = json.replace("\"state\": \"opened\"", &state);
        let hook = read(&[("x-gitlab-event", "Merge Request Hook")], json.as_bytes());
        match hook.unwrap().news {
            HookNews::Pull(pull) => assert_eq!(pull.is_open, is_open, "{state}"),
            news => panic!("{news:?}"),
        }
    }
}

#[test]
fn a_pull_request_is_of_the_repository_that_it_names() {
    let pull = pull_12("A change");
    let here = [
        "https://github.com/Orchard/yard.git",
        "git@github.com:orchard/yard",
        "/srv/repos/any.git",
        "https://forge.example.org/below/orchard/yard.git",
        "file:///any",
    ];
    for url in here {
        assert!(pull.is_of(url), "{url}");
    }
    for url in [
        "https://github.com/team/other.git",
        "https://github.com/an-orchard/yard.git",
    ] {
        assert!(!pull.is_of(url), "{url}");
    }
}
