//! `ls`: what is in a workspace.

use super::Context;
use super::exit::{self, Failure};
use super::progress::patiently;
use super::render::{Cell, Listing, Tone};
use super::values::{BranchArgs, PREPARING};
use branchyard_workspace::{Entry, EntryKind, ListRequest, Listing as Directory};

/// List files of a branch
///
/// Reads never wait for a build. Piped, each line is kind, mode, size, path and link target,
/// with tabs between.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard ls app main
  branchyard ls app main src --recursive
  branchyard ls app main -R | cut -f4")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    #[command(flatten)]
    listed: ListedArgs,
}

/// What is to be listed.
#[derive(Debug, clap::Args)]
pub(super) struct ListedArgs {
    /// A directory or file
    #[arg(default_value = ".")]
    path: String,
    /// Also what is below
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Also names that start with a dot
    #[arg(short, long)]
    all: bool,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    list(context, &args.at.path("/ls"), args.listed).await
}

/// Lists what there is, by what answers at `address`.
pub(super) async fn list(
    context: &Context,
    address: &str,
    listed: ListedArgs,
) -> Result<u8, Failure> {
    let request = ListRequest {
        path: listed.path,
        recursive: listed.recursive,
        all: listed.all,
    };
    let asking = context.client.post(address, &request);
    let answer = patiently(&context.console, PREPARING, asking).await?;
    let mut exit = exit::OK;
    context.show(&answer, |directory: Directory| {
        let Directory {
            entries, truncated, ..
        } = directory;
        context
            .console
            .print_listing(Listing::of(TITLES, entries, row))?;
        if truncated {
            let cut = "there is more: the list was cut; ask for a directory further down";
            context.console.warning(cut);
            exit = exit::LOCAL;
        }
        Ok(())
    })?;
    Ok(exit)
}

const TITLES: &str = "KIND, MODE, SIZE, PATH, TARGET; MODE, KIND";

fn row(entry: Entry) -> Vec<Cell> {
    let is_dir = entry.kind == EntryKind::Dir;
    let path = Cell::path(&entry.path);
    let path = match is_dir {
        true => path.shown_as(format!("{}/", entry.path)),
        false => path,
    };
    vec![
        Cell::word(entry.kind).tone(Tone::Faint),
        Cell::text(entry.mode).tone(Tone::Faint),
        // The size of a directory entry says nothing about the files in it.
        Cell::size(Some(entry.size).filter(|_| !is_dir)),
        path,
        Cell::path(entry.target.unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_lines_that_cut_can_take_apart() {
        let directory: Directory = serde_json::from_str(
            r#"{"repo":"app","branch":"main","commit":"c","path":".","entries":[
                {"path":"src","kind":"dir","size":4096,"mode":"040000"},
                {"path":"run.sh","kind":"file","size":12,"mode":"100755"},
                {"path":"link","kind":"symlink","size":6,"mode":"120000","target":"run.sh"}],"truncated":false}"#,
        )
        .unwrap();
        assert_eq!(
            Listing::of(TITLES, directory.entries, row).plain(),
            "dir\t040000\t\tsrc\t\nfile\t100755\t12\trun.sh\t\nsymlink\t120000\t6\tlink\trun.sh\n"
        );
    }
}
