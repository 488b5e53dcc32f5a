//! `check-config`: would the daemon start?

use std::path::PathBuf;

use serde_json::{Value, json};

use super::client::Answer;
use super::exit::{self, Failure};
use super::render::Console;
use branchyard::server::check_certificate;
use branchyard_config::{Config, Flags};
use branchyard_model::RepoName;

/// Say whether the daemon would start with a configuration
///
/// Reads and checks the configuration and changes nothing. Errors name file, line and column.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  branchyard check-config --config workspaces.toml")]
pub(crate) struct Args {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Says whether the daemon would start with this configuration.
pub(super) fn run(console: &Console, args: &Args) -> Result<u8, Failure> {
    let config = match checked(args) {
        Ok(config) => config,
        Err(detail) if console.json => {
            let verdict = json!({"valid": false, "detail": detail});
            console.print_json(&Answer::ours(&verdict))?;
            return Ok(exit::LOCAL);
        }
        Err(detail) => return Err(Failure::local(detail)),
    };
    match console.json {
        true => console.print_json(&Answer::ours(&as_json(&config)))?,
        false => console.print(as_text(&config).as_bytes())?,
    }
    Ok(exit::OK)
}

fn as_json(config: &Config) -> Value {
    let secrets_of = |repo: &RepoName| -> Vec<_> {
        let secrets = config.secrets.of_repo(repo).map(|(run, variable, secret)| {
            json!({"run": run, "variable": variable, "secret": secret.name().as_str()})
        });
        secrets.collect()
    };
    let repos = config.repos.iter().map(
        |(name, repo)| json!({"name": name, "url": repo.url.as_str(), "secrets": secrets_of(name)}),
    );
    let secrets = config.secrets.all();
    let secrets = secrets
        .map(|secret| json!({"name": secret.name().as_str(), "branches": secret.branches()}));
    json!({
        "valid": true,
        "listen": config.listen,
        "workspaces": config.workspaces,
        "repos": repos.collect::<Vec<_>>(),
        "secrets": secrets.collect::<Vec<_>>(),
    })
}

fn as_text(config: &Config) -> String {
    let mut text = format!(
        "the configuration is valid\n  listen      {}\n  workspaces  {}\n",
        config.listen,
        config.workspaces.display()
    );
    for (name, repo) in &config.repos {
        text.push_str(&format!("  repo        {name} ({})\n", repo.url.as_str()));
        for (run, variable, secret) in config.secrets.of_repo(name) {
            let secret = &secret.name();
            text.push_str(&format!("              {run} has {secret} in {variable}\n"));
        }
    }
    for secret in config.secrets.all() {
        let branches = secret.branches().join(", ");
        let name = secret.name();
        text.push_str(&format!("  secret      {name} (for {branches})\n"));
    }
    text
}

fn checked(args: &Args) -> Result<Config, String> {
    let config = Config::from_process(args.config.clone(), Flags::default())
        .map_err(|error| error.to_string())?;
    let checked = config.check_variables();
    checked.map_err(|error| error.to_string())?;
    check_certificate(&config).map_err(|error| format!("{error:#}"))?;
    Ok(config)
}
