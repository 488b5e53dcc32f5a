//! Whatever is asked for, what comes of it never reaches further than what it was made from.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use branchyard_config::{BranchGlobs, RepoGlobs};
use branchyard_model::{BranchName, RepoName};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn rights() -> impl Strategy<Value = Scopes> {
    proptest::sample::subsequence(Scope::ALL.to_vec(), 0..=Scope::ALL.len())
        .prop_map(|rights| rights.into_iter().collect())
}

fn sets() -> impl Strategy<Value = Vec<Toolset>> {
    proptest::sample::subsequence(Toolset::ALL.to_vec(), 0..=Toolset::ALL.len())
}

fn area() -> impl Strategy<Value = Area> {
    let globs = || proptest::sample::subsequence(vec!["a", "a-*", "b/**", "**", "*"], 1..3);
    (globs(), globs()).prop_map(|(repos, branches)| Area {
        repos: RepoGlobs::parse(repos).unwrap(),
        branches: BranchGlobs::parse(branches).unwrap(),
    })
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0i64..10_000_000).prop_map(|second| Timestamp::from_second(second).unwrap())
}

fn grant() -> impl Strategy<Value = Grant> {
    let areas = proptest::collection::vec(area(), 0..3);
    (rights(), sets(), areas, proptest::option::of(time())).prop_map(
        |(rights, toolsets, areas, expires)| Grant {
            rights,
            toolsets,
            areas,
            expires,
            author: None,
        },
    )
}

fn lifetime() -> impl Strategy<Value = Lifetime> {
    prop_oneof![
        Just(Lifetime::Never),
        time().prop_map(Lifetime::Until),
        (0u64..10_000_000).prop_map(|seconds| Lifetime::For(Duration::from_secs(seconds))),
        Just(Lifetime::For(Duration::MAX)),
    ]
}

fn places() -> Vec<(RepoName, BranchName)> {
    let names = ["a", "a-b", "b", "c"];
    let branches = ["a", "a-b", "b/c/d", "main"];
    let pairs = names
        .iter()
        .flat_map(|repo| branches.map(|branch| (repo, branch)));
    pairs
        .map(|(repo, branch)| {
            (
                RepoName::parse(repo).unwrap(),
                BranchName::parse(branch).unwrap(),
            )
        })
        .collect()
}

proptest! {
    #[test]
    fn never_wider(
        own in grant(),
        asked in rights(),
        toolsets in proptest::option::of(sets()),
        is_role in any::<bool>(),
        of_role in sets(),
        area in area(),
        lifetime in proptest::option::of(lifetime()),
    ) {
        let role = Role { scopes: asked, toolsets: of_role };
        let may = if is_role { May::Role(&role) } else { May::Only(asked) };
        let wish = RequestedToken { may, toolsets, area: area.clone(), lifetime, author: None };
        let Ok(made) = narrowed(&own, &wish, NOW) else {
            return Ok(());
        };
        // As it is when it is used.
        let good_for = match may {
            May::Role(role) => within(made.clone(), role.scopes, &role.toolsets),
            May::Only(_) => made.clone(),
        };
        prop_assert!(made.rights.without(own.rights).is_empty());
        prop_assert_eq!(good_for.rights, asked);
        let sets = |sets: &[Toolset]| sets.iter().copied().collect::<BTreeSet<_>>();
        prop_assert!(sets(&good_for.toolsets).is_subset(&sets(&own.toolsets)));
        for (repo, branch) in places() {
            let both = own.has(&repo, &branch) && area.has(&repo, &branch);
            prop_assert_eq!(good_for.has(&repo, &branch), both);
        }
        prop_assert!(!made.has_expired(NOW));
        if let Some(expires) = own.expires {
            prop_assert!(made.expires.is_some_and(|made| made <= expires));
        }
        prop_assert!(made.expires.is_some() || own.rights.contains(Scope::Admin));
    }
}

fn wish(may: May<'_>) -> RequestedToken<'_> {
    RequestedToken {
        may,
        toolsets: None,
        area: Area::everywhere(),
        lifetime: None,
        author: None,
    }
}

#[test]
fn whose_commits_have_a_name_gives_no_other() {
    let name = |text: &str| Some(Author::parse(text).unwrap());
    let dev = branchyard_config::AuthConfig::default().roles["dev"].clone();
    let asked = |author| RequestedToken {
        author,
        ..wish(May::Role(&dev))
    };
    let mut own = Grant::of_role(&dev);
    let made = |own: &Grant, author| narrowed(own, &asked(author), NOW).map(|grant| grant.author);
    assert_eq!(made(&own, None), Ok(None));
    assert_eq!(made(&own, name("Ann <a@b>")), Ok(name("Ann <a@b>")));
    own.author = name("Ann <a@b>");
    assert_eq!(made(&own, None), Ok(name("Ann <a@b>")));
    assert_eq!(made(&own, name("Ann <a@b>")), Ok(name("Ann <a@b>")));
    let refused = made(&own, name("Ben <b@b>")).unwrap_err();
    assert_eq!(refused.field.as_deref(), Some("author"));
}

#[test]
fn refusals_say_what_is_too_much() {
    let roles = branchyard_config::AuthConfig::default().roles;
    let own = Grant::of_role(&roles["dev"]).until(Some(Timestamp::from_second(100).unwrap()));
    let refused = |wish: &RequestedToken<'_>| {
        let problem = narrowed(&own, wish, NOW).unwrap_err();
        (problem.code, problem.field.unwrap(), problem.detail)
    };
    let ops = wish(May::Role(&roles["ops"]));
    let (code, field, detail) = refused(&ops);
    assert_eq!((code.as_str(), &*field), ("wider_than_own", "scopes"));
    assert!(
        detail.contains("ops") && !detail.contains("repo:read"),
        "{detail}"
    );
    let dev = wish(May::Role(&roles["dev"]));
    let sets = RequestedToken {
        toolsets: Some(vec![Toolset::Yard, Toolset::Admin]),
        ..dev.clone()
    };
    assert_eq!(&*refused(&sets).1, "toolsets");
    for lifetime in [
        Lifetime::Never,
        Lifetime::For(Duration::from_secs(101)),
        Lifetime::Until(Timestamp::from_second(101).unwrap()),
    ] {
        let longer = RequestedToken {
            lifetime: Some(lifetime),
            ..dev.clone()
        };
        assert_eq!(refused(&longer).0, "wider_than_own", "{lifetime:?}");
    }
    let nothing = refused(&wish(May::Only(Scopes::default())));
    assert_eq!(nothing.0, "unprocessable");
}

#[test]
fn the_usual_time_is_shorter_for_those_who_are_no_admins_and_never_beyond_their_own() {
    let roles = branchyard_config::AuthConfig::default().roles;
    let made = |role: &str, expires: Option<i64>| {
        let own = Grant::of_role(&roles[role]);
        let own = own.until(expires.map(|second| Timestamp::from_second(second).unwrap()));
        let made = narrowed(&own, &wish(May::Role(&roles["ui"])), NOW).unwrap();
        made.expires.unwrap().as_second()
    };
    assert_eq!(made("admin", None), 30 * 86_400);
    assert_eq!(made("dev", None), 12 * 3600);
    assert_eq!(made("dev", Some(60)), 60);
}
