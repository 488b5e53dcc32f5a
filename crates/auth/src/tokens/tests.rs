//! Tokens, from the making to the end.

use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::{Area, SESSION};
use branchyard_config::{BranchGlobs, RepoGlobs, Toolset};
use branchyard_model::{Scope, Scopes};
use branchyard_runtime::background::Loops;

struct Yard {
    dir: TempDir,
    config: AuthConfig,
}

impl Yard {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            config: AuthConfig::default(),
        }
    }

    fn open(&self) -> Tokens {
        let path = self.dir.path().join("trust.db");
        let opened = SecurityDb::open(&path, &Loops::default(), || false).unwrap();
        Tokens::open(opened.trust, &self.config).unwrap()
    }

    fn role<'a>(&'a self, role: &str) -> RequestedToken<'a> {
        RequestedToken {
            may: May::Role(&self.config.roles[role]),
            toolsets: None,
            area: Area::everywhere(),
            lifetime: None,
            author: None,
        }
    }

    async fn make(&self, tokens: &Tokens, asker: &Principal, role: &str) -> String {
        let made = try_make(tokens, asker, role, &self.role(role)).await;
        made.unwrap().1.expose()
    }
}

type Made = Result<(Arc<Token>, Credential), Problem>;

/// One of the role that the wish is made of.
async fn try_make(
    tokens: &Tokens,
    asker: &Principal,
    role: &str,
    wish: &RequestedToken<'_>,
) -> Made {
    tokens
        .make(asker, Name::Id, Some(role.to_owned()), wish)
        .await
}

fn session() -> Principal {
    Principal::new(SESSION, Grant::everything())
}

async fn holder(tokens: &Tokens, credential: &str) -> Principal {
    tokens.verify(credential).await.unwrap().unwrap()
}

async fn refusal(tokens: &Tokens, credential: &str) -> Problem {
    tokens.verify(credential).await.unwrap_err()
}

#[tokio::test]
async fn a_token_is_known_by_its_secret_alone_and_after_a_restart() {
    let yard = Yard::new();
    let tokens = yard.open();
    let credential = yard.make(&tokens, &session(), "dev").await;
    let dev = holder(&tokens, &credential).await;
    assert_eq!(dev.rights(), yard.config.roles["dev"].scopes);
    assert!(dev.may_have(Toolset::Code) && !dev.may_have(Toolset::Admin));
    assert!(
        tokens
            .verify("a-session-key-of-some-kind")
            .await
            .unwrap()
            .is_none()
    );
    let other = yard.make(&tokens, &session(), "dev").await;
    let (_, secret) = other.rsplit_once('_').unwrap();
    let (id, _) = credential.rsplit_once('_').unwrap();
    let mixed = refusal(&tokens, &format!("{id}_{secret}")).await;
    let unknown = refusal(&tokens, &format!("byt_000000000000_{secret}")).await;
    let malformed = refusal(&tokens, "byt_x").await;
    assert!(
        mixed == unknown && unknown == malformed,
        "nobody is told which"
    );
    drop(tokens);
    let tokens = yard.open();
    assert_eq!(holder(&tokens, &credential).await.name(), dev.name());
    assert!(tokens.shown_by(&dev).unwrap().last_used().is_some());
}

#[tokio::test]
async fn with_a_token_all_that_were_made_with_it_are_over() {
    let yard = Yard::new();
    let tokens = yard.open();
    let admin = yard.make(&tokens, &session(), "admin").await;
    let admin_holder = holder(&tokens, &admin).await;
    let dev = yard.make(&tokens, &admin_holder, "dev").await;
    let dev_holder = holder(&tokens, &dev).await;
    let ui = yard.make(&tokens, &dev_holder, "ui").await;
    let ui_holder = holder(&tokens, &ui).await;
    let other = yard.make(&tokens, &session(), "ui").await;
    let dev_token = tokens.shown_by(&dev_holder).unwrap();
    let revoked = tokens.revoke(&dev_token).await.unwrap();
    assert_eq!(revoked.len(), 2);
    // Whoever follows something is told.
    ui_holder.gone().await;
    assert!(tokens.revoke(&dev_token).await.unwrap().is_empty(), "once");
    let made = try_make(&tokens, &dev_holder, "ui", &yard.role("ui")).await;
    assert!(made.is_err(), "nor is anything made with it");
    for tokens in [tokens, yard.open()] {
        for credential in [&dev, &ui] {
            let problem = refusal(&tokens, credential).await;
            assert!(problem.detail.contains("was revoked"), "{problem}");
        }
        holder(&tokens, &admin).await;
        holder(&tokens, &other).await;
    }
}

#[tokio::test]
async fn an_expired_token_says_so_to_its_holder() {
    let yard = Yard::new();
    let tokens = yard.open();
    let wish = RequestedToken {
        lifetime: Some(Lifetime::For(Duration::from_millis(1))),
        ..yard.role("ui")
    };
    let (name, role) = (Name::Given("brief".to_owned()), Some("ui".to_owned()));
    let made = tokens.make(&session(), name, role, &wish).await;
    let (token, credential) = made.unwrap();
    Principal::new("x", token.grant().clone()).gone().await;
    let problem = refusal(&tokens, &credential.expose()).await;
    assert_eq!(problem.detail, "the token brief has expired");
    let tokens = yard.open();
    let problem = refusal(&tokens, &credential.expose()).await;
    assert_eq!(problem.detail, "the token brief has expired");
}

#[tokio::test]
async fn a_token_follows_its_role_and_never_beyond_its_maker() {
    let mut yard = Yard::new();
    let tokens = yard.open();
    let of_session = yard.make(&tokens, &session(), "ui").await;
    let dev = yard.make(&tokens, &session(), "dev").await;
    let of_dev = yard.make(&tokens, &holder(&tokens, &dev).await, "ui").await;
    drop(tokens);
    let wider: Scopes = [Scope::RepoRead, Scope::Ops].into_iter().collect();
    yard.config.roles.get_mut("ui").unwrap().scopes = wider;
    let tokens = yard.open();
    assert_eq!(holder(&tokens, &of_session).await.rights(), wider);
    let own: Scopes = [Scope::RepoRead].into_iter().collect();
    assert_eq!(holder(&tokens, &of_dev).await.rights(), own);
    drop(tokens);
    yard.config.roles.remove("dev");
    let tokens = yard.open();
    for credential in [&dev, &of_dev] {
        let problem = refusal(&tokens, credential).await;
        assert_eq!(problem.code, "role_gone");
        assert_eq!(problem.kind, ErrorKind::Forbidden);
    }
    holder(&tokens, &of_session).await;
}

#[tokio::test]
async fn areas_add_up() {
    let yard = Yard::new();
    let tokens = yard.open();
    let within = |repos, branches| RequestedToken {
        area: Area {
            repos: RepoGlobs::parse([repos]).unwrap(),
            branches: BranchGlobs::parse([branches]).unwrap(),
        },
        ..yard.role("dev")
    };
    let outer = try_make(&tokens, &session(), "dev", &within("app-*", "**")).await;
    let outer = holder(&tokens, &outer.unwrap().1.expose()).await;
    let inner = try_make(&tokens, &outer, "dev", &within("**", "agent-7-*")).await;
    let inner = inner.unwrap().1.expose();
    for tokens in [&tokens, &yard.open()] {
        let inner = holder(tokens, &inner).await;
        for (repo, branch, expected) in [
            ("app-x", "agent-7-a", true),
            ("app-x", "main", false),
            ("lib", "agent-7-a", false),
        ] {
            let repo = branchyard_model::RepoName::parse(repo).unwrap();
            let branch = branchyard_model::BranchName::parse(branch).unwrap();
            assert_eq!(inner.sees(&repo, &branch), expected, "{repo} {branch}");
        }
    }
}

#[tokio::test]
async fn there_is_an_end_to_depth_and_number() {
    let yard = Yard::new();
    let tokens = yard.open();
    let mut asker = session();
    let mut deep = 0;
    let refused = loop {
        match try_make(&tokens, &asker, "ui", &yard.role("ui")).await {
            Ok((_, credential)) => asker = holder(&tokens, &credential.expose()).await,
            Err(problem) => break problem,
        }
        deep += 1;
    };
    assert_eq!((refused.code.as_str(), deep), ("too_deep", 8));
    let dev = holder(&tokens, &yard.make(&tokens, &session(), "dev").await).await;
    let child = holder(&tokens, &yard.make(&tokens, &dev, "ui").await).await;
    // Those that its own tokens make are counted, too.
    for maker in [&dev, &child].into_iter().cycle().take(999) {
        yard.make(&tokens, maker, "ui").await;
    }
    for maker in [&dev, &child] {
        let one_more = try_make(&tokens, maker, "ui", &yard.role("ui")).await;
        assert_eq!(one_more.unwrap_err().code, "too_many_tokens");
    }
    yard.make(&tokens, &session(), "ui").await;
}

#[tokio::test]
async fn names_are_given_once_and_checked() {
    let yard = Yard::new();
    let tokens = yard.open();
    let wish = yard.role("ui");
    let make = |name: &str| {
        let name = Name::Given(name.to_owned());
        let (tokens, wish) = (tokens.clone(), wish.clone());
        async move {
            tokens
                .make(&session(), name, Some("ui".to_owned()), &wish)
                .await
        }
    };
    let (token, _) = make("ci").await.unwrap();
    assert_eq!(make("ci").await.unwrap_err().code, "name_taken");
    tokens.revoke(&token).await.unwrap();
    assert_eq!(make("ci").await.unwrap_err().code, "name_taken");
    for name in ["", "-x", "a b", "a/b", "é", &"x".repeat(65), "0123456789ab"] {
        assert_eq!(
            make(name).await.unwrap_err().code,
            "unprocessable",
            "{name}"
        );
    }
    let nobody = Principal::new("anonymous", Grant::everything());
    let made = tokens.make(&nobody, Name::Id, Some("ui".to_owned()), &wish);
    assert_eq!(made.await.unwrap_err().code, "nobody_known");
}

#[tokio::test]
async fn a_use_is_written_down_once_a_minute() {
    let yard = Yard::new();
    let tokens = yard.open();
    let (token, _) = tokens
        .make(
            &session(),
            Name::Id,
            Some("ui".to_owned()),
            &yard.role("ui"),
        )
        .await
        .unwrap();
    let at = |second| Timestamp::from_second(second).unwrap();
    let noted: Vec<_> = [0, 1, 59, 60, 61, 121]
        .map(|second| token.used(at(second)))
        .into();
    assert_eq!(noted, [true, false, false, true, false, true]);
    assert_eq!(token.last_used(), Some(at(121)));
}
