//! `check-config`: would the daemon start?

use std::path::PathBuf;

use serde_json::json;

use super::client::Answer;
use super::exit::{self, Failure};
use super::render::Console;
use branchyard::server::check_certificate;
use branchyard_config::{Config, Flags};

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
    if console.json {
        let repos: Vec<_> = config
            .repos
            .iter()
            .map(|(name, repo)| {
                let secrets: Vec<_> = config
                    .secrets
                    .of_repo(name)
                    .map(|(run, variable, secret)| {
                        json!({"run": run, "variable": variable, "secret": secret.name().as_str()})
                    })
                    .collect();
                json!({"name": name, "url": repo.url.as_str(), "secrets": secrets})
            })
            .collect();
        let secrets: Vec<_> = config
            .secrets
            .all()
            .map(|secret| json!({"name": secret.name().as_str(), "branches": secret.branches()}))
            .collect();
        console.print_json(&Answer::ours(&json!({
            "valid": true,
            "listen": config.listen,
            "workspaces": config.workspaces,
            "repos": repos,
            "secrets": secrets,
        })))?;
        return Ok(exit::OK);
    }
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
        text.push_str(&format!(
            "  secret      {} (for {branches})\n",
            secret.name()
        ));
    }
    console.print(text.as_bytes())?;
    Ok(exit::OK)
}

fn checked(args: &Args) -> Result<Config, String> {
    let config = Config::from_process(args.config.clone(), Flags::default())
        .map_err(|error| error.to_string())?;
    let checked = config.check_variables();
    checked.map_err(|error| error.to_string())?;
    check_certificate(&config).map_err(|error| format!("{error:#}"))?;
    Ok(config)
}
