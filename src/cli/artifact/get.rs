//! `artifact get`: an artifact, or a file of it, on this machine.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::json;

use super::fetch::{self, Target};
use super::{ask, name, path_of};
use crate::cli::Context;
use crate::cli::client::{Answer, Query, encode, repo_path};
use crate::cli::exit::{self, Failure};
use crate::cli::id_name::{self, IdName};
use crate::cli::values;
use branchyard_artifacts::ArtifactSet;
use branchyard_model::{BranchName, RepoName};

/// Fetch an artifact, or one file of it
///
/// Writes its files into a directory of its name, or into --output, and checks the SHA-256 of each. With PATH it is that
/// file alone. A file that is there already is not replaced, unless --force is given, and nothing is written outside of
/// the directory. In place of a pipeline or a run a repository can be named: then it is the artifact of the newest pipeline
/// of a branch that succeeded and has one.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard artifact get 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b dist
  branchyard artifact get 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b dist bin/app -o /tmp/app
  branchyard artifact get app report summary.txt -o -      the latest of the default branch, on stdout
  branchyard artifact get app dist --branch release/1 --archive zip
  branchyard artifact get 0197a3b4-9f1e-7c55-8d02-6b7a8c9d0e1f artifact        of a run")]
pub(crate) struct Args {
    /// The id of a pipeline or a run, or the name of a repository
    #[arg(value_name = "PIPELINE|RUN|REPO", value_parser = source)]
    source: ArtifactSource,
    /// The name of the artifact
    #[arg(value_parser = name)]
    name: String,
    /// Only this file of it
    path: Option<String>,
    /// Of a repository: the branch [default: its default branch]
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    branch: Option<BranchName>,
    /// Where to write: a directory; of one file, or of an archive, a file or a directory, or - for stdout
    #[arg(short, long, value_name = "WHERE")]
    output: Option<PathBuf>,
    /// As one archive, as it comes
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "path")]
    archive: Option<ArchiveArg>,
    /// Replace files that are there already
    #[arg(long)]
    force: bool,
}

/// Where an artifact is: in a pipeline or a run, or in the newest pipeline of a branch that succeeded and has one of its name.
#[derive(Debug, Clone)]
enum ArtifactSource {
    Of(IdName<String>),
    Latest(RepoName),
}

/// How many digits of an id a table shows.
const END_OF_ID: usize = 8;

fn source(text: &str) -> Result<ArtifactSource, String> {
    match id_name::run_or_pipeline(text) {
        Ok(id @ IdName::Whole(_)) => Ok(ArtifactSource::Of(id)),
        // So many digits are the end of an id, as a table shows it, and no name.
        Ok(id) if text.len() >= END_OF_ID => Ok(ArtifactSource::Of(id)),
        _ => values::repo(text).map(ArtifactSource::Latest),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ArchiveArg {
    Zip,
    Tar,
}

impl ArchiveArg {
    fn as_str(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Tar => "tar",
        }
    }
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let of_name = format!("/{}", encode(&args.name));
    let answer = match (&args.source, &args.branch) {
        (ArtifactSource::Of(id), None) => ask(context, &id.find(context).await?, &of_name).await?,
        (ArtifactSource::Of(_), Some(_)) => {
            return Err(
                Failure::usage("--branch is for the artifacts of a repository")
                    .help("name the repository in place of the id"),
            );
        }
        (ArtifactSource::Latest(repo), branch) => {
            let query = Query::default().with("branch", branch.as_ref());
            let path = query.after(&repo_path(repo, &format!("/artifacts{of_name}")));
            context.client.get(&path).await?
        }
    };
    let set: ArtifactSet = answer.parse()?;
    let from = path_of(set.owner, &args.name);
    let written = match (&args.path, args.archive) {
        (_, Some(format)) => {
            let format = format.as_str();
            let target = target(args, &format!("{}.{format}", args.name))?;
            fetch::archive(context, &format!("{from}/archive?format={format}"), target).await?
        }
        (Some(path), None) => {
            let file = set.files.iter().find(|file| file.path == *path);
            let file = file.ok_or_else(|| {
                let list = format!("branchyard artifact list ID {}", args.name);
                Failure::daemon(format!("the artifact has no file {path:?}"))
                    .help(format!("`{list}` lists them"))
            })?;
            let name = path.rsplit('/').next().unwrap_or_default();
            fetch::file(context, (&from, file), target(args, name)?).await?
        }
        (None, None) => {
            let dir = args.output.clone();
            if dir.as_deref() == Some(Path::new("-")) {
                return Err(Failure::usage("several files do not fit into stdout")
                    .help("name one of them, or add --archive tar"));
            }
            let dir = dir.unwrap_or_else(|| PathBuf::from(&args.name));
            fetch::files(context, &from, &set, (&dir, args.force)).await?;
            Some(dir)
        }
    };
    match written {
        Some(at) => done(context, &set, &at),
        None => Ok(exit::OK),
    }
}

/// Where a single file goes that is called `name`.
fn target(args: &Args, name: &str) -> Result<Target, Failure> {
    let replaces = args.force;
    match &args.output {
        Some(output) if output == Path::new("-") => Ok(Target::Stdout),
        Some(output) if !output.is_dir() => Target::at(output, replaces),
        Some(dir) => Target::at(&dir.join(name), replaces),
        None => Target::at(Path::new(name), replaces),
    }
}

fn done(context: &Context, set: &ArtifactSet, at: &Path) -> Result<u8, Failure> {
    let (at, files) = (at.to_string_lossy(), set.files.len());
    if context.console.json {
        let done = json!({ "written": at, "artifact": set });
        context.console.print_json(&Answer::ours(&done))?;
    } else {
        let whole = format!("{} of {}, {files} file(s)", set.name, set.owner);
        context.console.note(&whole);
        context.console.print_line(&at)?;
    }
    Ok(exit::OK)
}
