//! `token`: credentials for others.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::Context;
use super::client::{Answer, Query, encode};
use super::exit::{self, Failure};
use super::render::{Cell, Tone};
use super::values;
use branchyard::app::{Good, MadeToken, RevokedTokens, TokenRequest, TokenState, TokenView};
use branchyard_config::Toolset;
use branchyard_model::Scope;

/// Make, list and revoke tokens
///
/// A token lets somebody else in, for as much as you may do yourself or less: some scopes, some
/// repos and branches, for some time. The daemon keeps a hash of it only. Everybody lists and revokes
/// the tokens of their own making; an admin all.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard token create --role dev --repos 'app-*' --branches 'agent-7-*' --expires 12h
  branchyard token create --role ui --name wall-screen --expires 90d --output screen.key
  branchyard token list
  branchyard token revoke wall-screen")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: TokenAction,
}

#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Make a token, and print it: once, and never again
    ///
    /// The token alone goes to stdout. It is good for what the credential that this command uses is
    /// good for, or less, and for no longer. When that one is revoked or expires, this one is over too.
    #[command(after_long_help = "\
Examples:
  branchyard token create --role dev --repos 'app-*' --branches 'agent-7-*' --expires 12h
  branchyard token create --role ui --name wall-screen --expires 90d --output screen.key
  branchyard --key-file screen.key runs")]
    Create(Box<CreateTokenArgs>),
    /// List tokens: what each is good for, who made it, when it was last used
    List {
        /// Also those that expired or were revoked, for a week after that
        #[arg(long)]
        all: bool,
    },
    /// Take a token back at once, with all that were made with it
    Revoke {
        /// The token's name or id
        #[arg(value_name = "NAME|ID", value_parser = values::token)]
        token: String,
    },
}

#[derive(Debug, clap::Args)]
struct CreateTokenArgs {
    /// What it may do: dev, ops, admin, ui, or a role of the daemon's configuration
    #[arg(long, value_name = "ROLE", value_parser = values::role, required_unless_present = "scopes")]
    role: Option<String>,
    /// What it may do, in place of a role: repo:read, build:run, git:read, git:write, code:run, ops, admin
    #[arg(long, value_name = "SCOPES", value_delimiter = ',', conflicts_with = "role", value_parser = values::scope)]
    scopes: Option<Vec<Scope>>,
    /// The sets of MCP tools that it gets at most, with commas between them
    #[arg(long, value_name = "SETS", value_delimiter = ',', value_parser = values::toolset)]
    toolsets: Option<Vec<Toolset>>,
    /// Only repos that match this glob; may be given several times
    #[arg(long, value_name = "GLOB")]
    repos: Option<Vec<String>>,
    /// Only branches that match this glob; may be given several times
    #[arg(long, value_name = "GLOB")]
    branches: Option<Vec<String>>,
    /// How long it is good: 12h, 30d, a time, or never (which takes an admin)
    ///
    /// Without it 30 days if you are an admin, else 12 hours, and never longer than your own.
    #[arg(long, value_name = "WHEN", value_parser = values::expiry)]
    expires: Option<String>,
    /// Who its commits are by, as 'Name <address>'; the daemon's own identity stays the committer
    #[arg(long, value_name = "AUTHOR")]
    author: Option<String>,
    /// What it is called in lists and in the audit; given once and for ever
    #[arg(long, value_name = "NAME", value_parser = values::token)]
    name: Option<String>,
    /// Write the token to this new file, which only you can read, in place of stdout
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    match args.action {
        TokenAction::Create(args) => create(context, *args).await,
        TokenAction::List { all } => {
            let path = Query::default().flag("all", all).after("/api/tokens");
            let answer = context.client.get(&path).await?;
            let none = "no tokens; make one with `branchyard token create --role dev`";
            context.list(&answer, none, TITLES, row)
        }
        TokenAction::Revoke { token } => {
            let path = format!("/api/tokens/{}", encode(&token));
            let answer = context.client.delete(&path).await?;
            context.show(&answer, |RevokedTokens { revoked, with_it }| {
                let with_it = match with_it.is_empty() {
                    true => String::new(),
                    false => format!(", and with it {}", with_it.join(", ")),
                };
                let note = format!("revoked {}{with_it}", revoked.name);
                context.console.note(&note);
                Ok(())
            })
        }
    }
}

async fn create(context: &Context, args: CreateTokenArgs) -> Result<u8, Failure> {
    let Some(path) = args.output.clone() else {
        let (answer, MadeToken { token, made }) = ask(context, args).await?;
        return context.show(&answer, |_: MadeToken| {
            context.console.note(&told(&made));
            context.console.print_line(&token.expose())
        });
    };
    let file = new_file(&path)?;
    let written = async {
        let (_, MadeToken { token, made }) = ask(context, args).await?;
        let name = &made.name;
        fill(&file, &token.expose()).map_err(|error| {
            let detail = format!("the token {name} is made, but could not be written: {error}");
            let help = format!("take it back with `branchyard token revoke {name}`");
            Failure::local(detail).help(help)
        })?;
        context.console.note(&told(&made));
        Ok(exit::OK)
    };
    let written = written.await;
    if written.is_err() {
        // It was made by this very command; that it stays does no harm.
        let _ = fs::remove_file(&path);
    }
    written
}

async fn ask(context: &Context, args: CreateTokenArgs) -> Result<(Answer, MadeToken), Failure> {
    let request = TokenRequest {
        name: args.name,
        role: args.role,
        scopes: args.scopes,
        toolsets: args.toolsets,
        repos: args.repos,
        branches: args.branches,
        expires: args.expires,
        author: args.author,
    };
    let answer = context.client.post("/api/tokens", &request).await?;
    let made = answer.parse()?;
    Ok((answer, made))
}

fn told(made: &TokenView) -> String {
    let good = in_words(made.role.as_deref(), &made.good);
    format!("made {}: {good}", made.name)
}

const TITLES: &str =
    "NAME, ID, STATE, MAY, WHERE, EXPIRES, LAST USED, MADE, BY; BY, MADE, ID, EXPIRES, LAST USED";

fn row(token: TokenView) -> Vec<Cell> {
    let tone = match token.state {
        TokenState::Live => Tone::Good,
        TokenState::Useless => Tone::Warn,
        TokenState::Expired | TokenState::Revoked => Tone::Faint,
    };
    let expires = token.good.expires;
    let expires = expires.map_or_else(|| "never".to_owned(), |at| at.to_string());
    let may = token.role.unwrap_or_else(|| scopes(&token.good, ","));
    vec![
        Cell::whole(token.name),
        Cell::whole(token.id),
        Cell::word(token.state).tone(tone),
        Cell::text(may),
        Cell::text(place(&token.good)),
        Cell::text(expires),
        Cell::moment(token.last_used),
        Cell::moment(Some(token.created_at)),
        Cell::text(token.created_by),
    ]
}

fn scopes(good: &Good, between: &str) -> String {
    let scopes: Vec<_> = good.scopes.iter().map(|scope| scope.as_str()).collect();
    scopes.join(between)
}

fn place(good: &Good) -> String {
    let areas = good.areas.iter().map(|area| {
        let (repos, branches) = (area.repos.patterns(), area.branches.patterns());
        format!("{}:{}", repos.join(","), branches.join(","))
    });
    let areas: Vec<_> = areas.collect();
    match areas.is_empty() {
        true => "everywhere".to_owned(),
        false => areas.join(" & "),
    }
}

/// What a credential is good for.
pub(super) fn in_words(role: Option<&str>, good: &Good) -> String {
    let role = role.map_or_else(String::new, |role| format!("{role}: "));
    let until = good.expires;
    let until = until.map_or_else(String::new, |at| format!(", until {at}"));
    format!("{role}{}; {}{until}", scopes(good, " "), place(good))
}

/// A new file for a secret. It is made before there is one, which would have nowhere to go.
fn new_file(path: &Path) -> Result<File, Failure> {
    let mut options = File::options();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| {
        Failure::local(format!("cannot make {}: {error}", path.display()))
            .help("name a file that is not there yet")
    })
}

fn fill(mut file: &File, secret: &str) -> io::Result<()> {
    writeln!(file, "{secret}")?;
    file.sync_all()
}
