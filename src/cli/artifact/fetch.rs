//! Bytes of artifacts on their way to disk or stdout.

use std::path::{Path, PathBuf};

use crate::cli::Context;
use crate::cli::client::encode;
use crate::cli::exit::Failure;
use crate::cli::progress::Progress;
use branchyard_artifacts::{ArtifactError, ArtifactFile, ArtifactSet, PartialFile, UnpackDir};

/// Where a single file goes.
pub(super) enum Target {
    Stdout,
    File { at: PathBuf, part: PartialFile },
}

impl Target {
    /// A file that is put in its place once it is whole.
    pub(super) fn at(path: &Path, replaces: bool) -> Result<Self, Failure> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            let at = path.display();
            Failure::usage(format!("{at} is not the name of a file"))
        })?;
        let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = open(parent.unwrap_or(Path::new(".")), replaces)?;
        dir.check(name).map_err(|error| unwritten(&error))?;
        Ok(Self::File {
            at: path.to_owned(),
            part: dir.begin(name).map_err(|error| unwritten(&error))?,
        })
    }
}

/// Writes all files of an artifact below a directory.
pub(super) async fn files(
    context: &Context,
    from: &str,
    set: &ArtifactSet,
    (dir, replaces): (&Path, bool),
) -> Result<(), Failure> {
    let dir = open(dir, replaces)?;
    for file in &set.files {
        dir.check(&file.path).map_err(|error| unwritten(&error))?;
    }
    let progress = Progress::new(&context.console);
    let all = set.files.len();
    for (nth, file) in set.files.iter().enumerate() {
        progress.spin(&format!("{} of {all}: {}", nth + 1, file.path));
        let mut part = dir.begin(&file.path).map_err(|error| unwritten(&error))?;
        let path = address(from, file);
        let written = |bytes: &[u8]| part.write(bytes).map_err(|error| unwritten(&error));
        fetch(context, &path, written).await?;
        part.verified(file).map_err(|error| unwritten(&error))?;
    }
    progress.clear();
    Ok(())
}

/// Writes one file of it; where to, unless that is stdout.
pub(super) async fn file(
    context: &Context,
    (from, file): (&str, &ArtifactFile),
    target: Target,
) -> Result<Option<PathBuf>, Failure> {
    let (at, part) = put(context, &address(from, file), target).await?.unzip();
    if let Some(part) = part {
        part.verified(file).map_err(|error| unwritten(&error))?;
    }
    Ok(at)
}

/// Writes what comes as an archive, the same way.
pub(super) async fn archive(
    context: &Context,
    path: &str,
    target: Target,
) -> Result<Option<PathBuf>, Failure> {
    let (at, part) = put(context, path, target).await?.unzip();
    if let Some(part) = part {
        part.finish().map_err(|error| unwritten(&error))?;
    }
    Ok(at)
}

/// Writes what comes; the file that is to be put in its place.
async fn put(
    context: &Context,
    path: &str,
    target: Target,
) -> Result<Option<(PathBuf, PartialFile)>, Failure> {
    match target {
        Target::Stdout => {
            let mut passage = context.console.passage();
            fetch(context, path, |bytes| passage.print(bytes)).await?;
            Ok(None)
        }
        Target::File { at, mut part } => {
            let written = |bytes: &[u8]| part.write(bytes).map_err(|error| unwritten(&error));
            fetch(context, path, written).await?;
            Ok(Some((at, part)))
        }
    }
}

async fn fetch(
    context: &Context,
    path: &str,
    mut each: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut response = context.client.open(path, "*/*").await?;
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) => each(&bytes)?,
            Ok(None) => return Ok(()),
            Err(error) => {
                let cause = Failure::from(context.client.unreachable(&error));
                return Err(Failure::daemon(format!("the artifact broke off: {cause}")));
            }
        }
    }
}

fn address(from: &str, file: &ArtifactFile) -> String {
    let names: Vec<_> = file.path.split('/').map(encode).collect();
    format!("{from}/files/{}", names.join("/"))
}

fn open(dir: &Path, replaces: bool) -> Result<UnpackDir, Failure> {
    UnpackDir::open(dir, replaces)
        .map_err(|error| Failure::local(format!("cannot write to {}: {error}", dir.display())))
}

fn unwritten(error: &ArtifactError) -> Failure {
    let failure = Failure::local(error.to_string());
    match error {
        ArtifactError::InTheWay { .. } => {
            failure.help("--output names another place; --force replaces files")
        }
        _ => failure,
    }
}
