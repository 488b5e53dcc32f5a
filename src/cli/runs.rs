//! `runs` and `cancel`.

use jiff::Timestamp;
use serde::Deserialize;

use super::Context;
use super::args::RunsArgs;
use super::client::encode;
use super::exit::{self, Failure};
use super::render::{Cell, Listing, Tone, human_duration};
use crate::model::RunId;

#[derive(Deserialize)]
struct Page {
    items: Vec<Item>,
}

/// A run, as far as a list shows it.
#[derive(Deserialize)]
struct Item {
    run_id: String,
    repo: String,
    branch: String,
    #[serde(default)]
    argv: Vec<String>,
    state: String,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    duration_ms: Option<u64>,
}

pub async fn list(context: &Context, args: &RunsArgs) -> Result<u8, Failure> {
    let mut path = format!("/api/runs?limit={}", args.limit);
    if let Some(repo) = &args.repo {
        path.push_str(&format!("&repo={}", encode(repo.as_str())));
    }
    if let Some(branch) = &args.branch {
        path.push_str(&format!("&branch={}", encode(branch.as_str())));
    }
    let console = &context.console;
    let answer = context.client.get(&path).await?;
    if console.json {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let listing = listing(answer.parse()?);
    if listing.is_empty() {
        console.note("no runs");
    } else {
        console.print_listing(&listing)?;
    }
    Ok(exit::OK)
}

pub async fn cancel(context: &Context, run: RunId) -> Result<u8, Failure> {
    let answer = context.client.cancel(run).await?;
    if context.console.json {
        context.console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let item: Item = answer.parse()?;
    context.console.note(&match item.state.as_str() {
        "queued" | "preparing" | "running" => format!("cancelling {run}"),
        state => format!("{run} has ended already: {state}"),
    });
    Ok(exit::OK)
}

fn listing(page: Page) -> Listing {
    let mut listing = Listing::new(&[
        "RUN", "STATE", "EXIT", "REPO", "BRANCH", "COMMAND", "ASKED", "TOOK",
    ]);
    for run in page.items {
        let tone = match run.state.as_str() {
            "succeeded" => Tone::Good,
            "queued" | "preparing" | "running" => Tone::Warn,
            "cancelled" => Tone::Faint,
            _ => Tone::Bad,
        };
        let exit_code = run.exit_code.map(|code| code.to_string());
        let took = run.duration_ms;
        listing.row(vec![
            Cell::whole(run.run_id),
            Cell::text(run.state).tone(tone),
            Cell::number(exit_code.unwrap_or_default()),
            Cell::text(run.repo),
            Cell::text(run.branch),
            Cell::text(command_line(&run.argv)),
            Cell::moment(run.created_at),
            Cell::number(took.map(|millis| millis.to_string()).unwrap_or_default())
                .shown_as(took.map(human_duration).unwrap_or_default()),
        ]);
    }
    listing
}

/// As one would type it.
fn command_line(argv: &[String]) -> String {
    shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_else(|_| argv.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_with_its_numbers() {
        let page = serde_json::from_str(
            r#"{"items":[{"run_id":"r","kind":"make","repo":"app","branch":"feature/x","argv":["make","A=b c"],
                "state":"failed","exit_code":2,"created_at":"2024-05-06T07:08:09Z","duration_ms":1500,"about":null}],"next":null}"#,
        )
        .unwrap();
        assert_eq!(
            listing(page).plain(),
            "r\tfailed\t2\tapp\tfeature/x\tmake 'A=b c'\t2024-05-06T07:08:09Z\t1500\n"
        );
    }
}
