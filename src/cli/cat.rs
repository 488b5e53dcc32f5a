//! `cat`: a file of a workspace, or lines of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Context;
use super::client::encode;
use super::exit::{self, Failure};
use super::progress::patiently;
use super::values::{self, BranchArgs, LineRange, PREPARING};
use branchyard_workspace::{FileText, ReadRequest};

/// Print a file of a branch
///
/// Prints exactly the file's bytes, or exactly the lines that were asked for, however large it
/// is. With --json a large file is several answers, a line each: `end_byte` of one is
/// `start_byte` of the next.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard cat app main Makefile
  branchyard cat app feature/login src/main.c --lines 10-40")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// What is to be read.
#[derive(Debug, clap::Args)]
pub(super) struct ReadArgs {
    /// A file
    path: String,
    /// Only these lines, counted from 1: 10-40, 10-, -40 or 10
    #[arg(long, value_name = "A-B", allow_hyphen_values = true, value_parser = values::lines)]
    lines: Option<LineRange>,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    // What a URL would take for steps up or down in it, the daemon is told in a body.
    let is_plain = !args
        .read
        .path
        .split('/')
        .any(|name| ["", ".", ".."].contains(&name));
    if args.read.lines.is_none() && !context.console.json && is_plain {
        whole_file(context, &args).await
    } else {
        parts_of_file(context, &args.at.path("/read_file"), args.read).await
    }
}

/// All bytes of a file, as they come.
async fn whole_file(context: &Context, args: &Args) -> Result<u8, Failure> {
    let names: Vec<_> = args.read.path.split('/').map(encode).collect();
    let path = args.at.path(&format!("/raw/{}", names.join("/")));
    let opening = context.client.open(&path, "*/*");
    let response = patiently(&context.console, PREPARING, opening).await?;
    let broke_off = |cause| Failure::daemon(format!("the file broke off: {cause}"));
    context.print_as_it_comes(response, broke_off).await
}

/// A file or lines of it, in as many parts as what answers at `address` gives them: `--json` prints an answer for each.
pub(super) async fn parts_of_file(
    context: &Context,
    address: &str,
    read: ReadArgs,
) -> Result<u8, Failure> {
    let console = &context.console;
    let mut request = ReadRequest {
        path: read.path,
        start_line: read.lines.and_then(|lines| lines.start),
        end_line: read.lines.and_then(|lines| lines.end),
        start_byte: read.lines.is_none().then_some(0),
        end_byte: None,
    };
    let mut passage = console.passage();
    loop {
        let asking = context.client.post(address, &request);
        let answer = patiently(console, PREPARING, asking).await?;
        let part: FileText = answer.parse()?;
        if console.json {
            console.print_json(&answer)?;
        } else {
            passage.print(&bytes(&part)?)?;
        }
        if !part.truncated {
            return Ok(exit::OK);
        }
        if part.text.is_empty() {
            let what = "the daemon's answer makes no sense: it is cut, and holds nothing";
            return Err(Failure::daemon(what));
        }
        request.start_line = None;
        request.start_byte = Some(part.end_byte);
    }
}

fn bytes(part: &FileText) -> Result<Vec<u8>, Failure> {
    if part.encoding != "base64" {
        return Ok(part.text.clone().into_bytes());
    }
    STANDARD
        .decode(&part.text)
        .map_err(|error| Failure::daemon(format!("the daemon's answer makes no sense: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_its_bytes_whatever_the_encoding() {
        let of = |text: &str, encoding: &str| {
            let part = serde_json::json!({
                "path": "f", "text": text, "encoding": encoding, "start_byte": 0, "end_byte": 4, "size": 4,
                "truncated": false, "modified": false,
            });
            bytes(&serde_json::from_value(part).unwrap())
        };
        assert_eq!(of("a\r\nb", "utf-8").unwrap(), b"a\r\nb");
        assert_eq!(of("/wA=", "base64").unwrap(), [0xff, 0]);
        assert!(of("?", "base64").is_err());
    }
}
