//! `token` and `whoami`: credentials for others, and what one's own is good for.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Context;
use super::args::{CreateTokenArgs, TokenAction};
use super::client::{Answer, encode};
use super::exit::{self, Failure};
use super::render::{Cell, Listing, Tone};

#[derive(Deserialize)]
struct TokensPage {
    items: Vec<ListedToken>,
}

#[derive(Deserialize)]
struct ListedToken {
    id: String,
    name: String,
    state: String,
    #[serde(flatten)]
    good: Good,
    created_at: Timestamp,
    created_by: String,
    last_used: Option<Timestamp>,
}

/// What a credential is good for.
#[derive(Deserialize)]
struct Good {
    role: Option<String>,
    scopes: Vec<String>,
    areas: Vec<Area>,
    expires: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Area {
    repos: Vec<String>,
    branches: Vec<String>,
}

#[derive(Deserialize)]
struct Made {
    token: String,
    #[serde(flatten)]
    about: ListedToken,
}

#[derive(Deserialize)]
struct Revoked {
    name: String,
    with_it: Vec<String>,
}

#[derive(Deserialize)]
struct Me {
    name: String,
    #[serde(flatten)]
    good: Good,
}

pub(super) async fn token(context: &Context, action: &TokenAction) -> Result<u8, Failure> {
    match action {
        TokenAction::Create(args) => create(context, args).await?,
        TokenAction::List { all } => list(context, *all).await?,
        TokenAction::Revoke { token } => revoke(context, token).await?,
    }
    Ok(exit::OK)
}

pub(super) async fn whoami(context: &Context) -> Result<u8, Failure> {
    let answer = context.client.get("/api/whoami").await?;
    if context.console.json() {
        context.console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let me: Me = answer.parse()?;
    context.console.note(&me.good.in_words());
    context.console.print_line(&me.name)?;
    Ok(exit::OK)
}

async fn create(context: &Context, args: &CreateTokenArgs) -> Result<(), Failure> {
    // Before there is a secret that would have nowhere to go.
    let file = args.output.as_deref().map(Sealed::make).transpose()?;
    let answer = context.client.post("/api/tokens", &request(args)).await?;
    let made: Made = answer.parse()?;
    let about = &made.about;
    if let Some(file) = file {
        file.fill(&made.token).map_err(|error| {
            let name = &about.name;
            Failure::local(format!(
                "the token {name} is made, but could not be written: {error}"
            ))
            .help(format!(
                "take it back with `branchyard token revoke {name}`"
            ))
        })?;
        context.console.note(&told(about));
        return Ok(());
    }
    if context.console.json() {
        return context.console.print_json(&answer);
    }
    context.console.note(&told(about));
    context.console.print_line(&made.token)
}

fn told(token: &ListedToken) -> String {
    format!("made {}: {}", token.name, token.good.in_words())
}

/// What was said, and nothing else.
fn request(args: &CreateTokenArgs) -> Value {
    let texts = [
        ("role", &args.role),
        ("expires", &args.expires),
        ("name", &args.name),
    ];
    let lists = [
        ("scopes", &args.scopes),
        ("toolsets", &args.toolsets),
        ("repos", &args.repos),
        ("branches", &args.branches),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(key, text)| Some((key, json!(text.as_ref()?))));
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let all = texts.chain(lists.map(|(key, list)| (key, json!(list))));
    Value::Object(
        all.map(|(key, value)| (key.to_owned(), value))
            .collect::<Map<_, _>>(),
    )
}

async fn list(context: &Context, all: bool) -> Result<(), Failure> {
    let path = if all {
        "/api/tokens?all=true"
    } else {
        "/api/tokens"
    };
    let answer = context.client.get(path).await?;
    if context.console.json() {
        return context.console.print_json(&answer);
    }
    let page: TokensPage = answer.parse()?;
    if page.items.is_empty() {
        let note = "no tokens; make one with `branchyard token create --role dev`";
        context.console.note(note);
        return Ok(());
    }
    context.console.print_listing(&listing(page))
}

fn listing(page: TokensPage) -> Listing {
    let mut listing = Listing::new(&[
        "NAME",
        "ID",
        "STATE",
        "MAY",
        "WHERE",
        "EXPIRES",
        "LAST USED",
        "MADE",
        "BY",
    ]);
    for token in page.items {
        let tone = match token.state.as_str() {
            "live" => Tone::Good,
            "useless" => Tone::Warn,
            _ => Tone::Faint,
        };
        let expires = token
            .good
            .expires
            .map_or_else(|| "never".to_owned(), |at| at.to_string());
        listing.row(vec![
            Cell::whole(token.name),
            Cell::whole(token.id),
            Cell::text(token.state).tone(tone),
            Cell::text(token.good.may()),
            Cell::text(token.good.place()),
            Cell::text(expires),
            Cell::moment(token.last_used),
            Cell::moment(Some(token.created_at)),
            Cell::text(token.created_by),
        ]);
    }
    listing
}

async fn revoke(context: &Context, token: &str) -> Result<(), Failure> {
    let path = format!("/api/tokens/{}", encode(token));
    let answer: Answer = context.client.delete(&path).await?;
    if context.console.json() {
        return context.console.print_json(&answer);
    }
    let revoked: Revoked = answer.parse()?;
    let with_it = match revoked.with_it.is_empty() {
        true => String::new(),
        false => format!(", and with it {}", revoked.with_it.join(", ")),
    };
    context
        .console
        .note(&format!("revoked {}{with_it}", revoked.name));
    Ok(())
}

impl Good {
    fn may(&self) -> String {
        self.role.clone().unwrap_or_else(|| self.scopes.join(","))
    }

    fn place(&self) -> String {
        let areas = self.areas.iter();
        let areas: Vec<_> = areas
            .map(|area| format!("{}:{}", area.repos.join(","), area.branches.join(",")))
            .collect();
        match areas.is_empty() {
            true => "everywhere".to_owned(),
            false => areas.join(" & "),
        }
    }

    fn in_words(&self) -> String {
        let scopes = self.scopes.join(" ");
        let role = self
            .role
            .as_ref()
            .map_or_else(String::new, |role| format!("{role}: "));
        let until = self
            .expires
            .map_or_else(String::new, |at| format!(", until {at}"));
        format!("{role}{scopes}; {}{until}", self.place())
    }
}

/// A new file for a secret, which goes again unless it is filled.
struct Sealed<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl<'a> Sealed<'a> {
    fn make(path: &'a Path) -> Result<Self, Failure> {
        let made = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        let file = made.map_err(|error| {
            Failure::local(format!("cannot make {}: {error}", path.display()))
                .help("name a file that is not there yet")
        })?;
        Ok(Self {
            path,
            file: Some(file),
        })
    }

    fn fill(mut self, secret: &str) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        writeln!(file, "{secret}")?;
        file.sync_all()?;
        self.file = None;
        Ok(())
    }
}

impl Drop for Sealed<'_> {
    fn drop(&mut self) {
        if self.file.is_some() {
            // It was made by this very command; that it stays, empty, does no harm.
            let _ = fs::remove_file(self.path);
        }
    }
}
