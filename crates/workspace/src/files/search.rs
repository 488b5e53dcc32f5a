//! Searching the files of a workspace.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::beneath::{FileRoot, shown};
use super::lines::{End, Hit, Lines};
use super::query::{Grep, SearchCursor};
use super::regular::open_lined;
use super::walk::{Walk, WalkStep};
use crate::files::beneath;
use crate::{Error, Workspace};
use branchyard_model::About;

/// What all lines of an answer may take.
const MAX_TEXT: usize = 1024 * 1024;
/// A search that takes longer tells what it has found so far.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was found, in the order of paths and lines.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Matches {
    pub matches: Vec<LineMatch>,
    /// Not everything was searched: there was more than was asked for, or too little time.
    pub truncated: bool,
    /// Where to go on; nothing where all was searched.
    pub next: Option<String>,
    /// Files that were searched.
    pub searched: usize,
    /// Files and directories that could not be: not text, too large, not to be opened.
    pub skipped: usize,
}

/// A line that matches.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LineMatch {
    /// Relative to the workspace.
    path: String,
    /// Counted from 1.
    line: u64,
    /// The byte of the line at which the match begins, counted from 1.
    column: usize,
    /// The line; of a long one the part around the match.
    text: String,
    /// The lines right before it. None is told twice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    /// The lines right after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
    #[serde(skip)]
    at: PathBuf,
}

impl LineMatch {
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn line(&self) -> u64 {
        self.line
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn before(&self) -> &[String] {
        &self.before
    }

    pub fn after(&self) -> &[String] {
        &self.after
    }

    /// The same with its own and the lines around it rewritten.
    pub fn with_lines(&self, rewrite: impl Fn(&str) -> String) -> Self {
        let all = |lines: &[String]| lines.iter().map(|line| rewrite(line)).collect();
        Self {
            text: rewrite(&self.text),
            before: all(&self.before),
            after: all(&self.after),
            ..self.clone()
        }
    }

    /// Where a search goes on after this match.
    pub fn cursor(&self) -> String {
        SearchCursor::after(&self.at, self.line).write()
    }

    fn size(&self) -> usize {
        let around = self.before.iter().chain(&self.after);
        self.path.len() + self.text.len() + around.map(String::len).sum::<usize>()
    }
}

/// Searches the files, until all is found or the caller went away. The caller shares them.
pub async fn grep(workspace: &Arc<Workspace>, grep: Grep) -> Result<(About, Matches), Error> {
    let nobody_waits = CancellationToken::new();
    let _waiting = nobody_waits.clone().drop_guard();
    workspace
        .looking(move |this| {
            let found = grep.search(&FileRoot::of(this)?, &until_over(&nobody_waits))?;
            Ok((beneath::standing_for_read(this)?, found))
        })
        .await
}

/// Whether a search that begins now is to stop.
pub(super) fn until_over(nobody_waits: &CancellationToken) -> impl Fn() -> bool {
    let until = Instant::now() + PATIENCE;
    move || nobody_waits.is_cancelled() || Instant::now() >= until
}

impl Grep {
    pub(super) fn search(
        &self,
        root: &FileRoot,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Matches, Error> {
        let path = &root.relative(&self.path)?;
        let start = root.open(path)?;
        let stat = rustix::fs::fstat(&start)
            .map_err(|errno| Error::io("search a directory")(errno.into()))?;
        let mut search = Search {
            grep: self,
            is_over,
            found: Matches::default(),
            size: 0,
            place: self.from.clone(),
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            let file = open_lined(&start, path, root.included())?;
            search.file(path, file);
            return Ok(search.found);
        }
        let from = self.from.as_ref().map(|place| place.path.clone());
        let mut walk = Walk::new(
            root.dir(),
            start,
            path.to_owned(),
            from,
            root.included().clone(),
        );
        while !search.found.truncated {
            if is_over() {
                search.stop();
                break;
            }
            match walk.step() {
                None => break,
                Some(WalkStep::Ignored) => {}
                Some(WalkStep::Entered(path)) => search.is_in(&path),
                Some(WalkStep::File(path)) => {
                    let is_meant = self.glob.as_ref().is_none_or(|glob| glob.matches(&path));
                    let file = is_meant.then(|| walk.open(&path)).flatten();
                    match file {
                        Some(file) => search.file(&path, file),
                        None => search.is_done_with(&path),
                    }
                }
            }
        }
        search.found.skipped += walk.skipped();
        Ok(search.found)
    }
}

struct Search<'a> {
    grep: &'a Grep,
    is_over: &'a dyn Fn() -> bool,
    found: Matches,
    /// Of the lines that were found.
    size: usize,
    /// How far it came. It moves on with whatever was looked at, searched or not, so that a search which
    /// is cut again and again ends all the same.
    place: Option<SearchCursor>,
}

impl Search<'_> {
    fn file(&mut self, path: &Path, file: File) {
        let lines = Lines {
            pattern: &self.grep.pattern,
            context: self.grep.context,
            after: match &self.grep.from {
                Some(place) if place.path == path => place.line,
                _ => 0,
            },
        };
        let is_over = self.is_over;
        match lines.search(file, |hit| self.hit(path, hit), is_over) {
            Ok(End::Whole) => {
                self.found.searched += 1;
                self.is_done_with(path);
            }
            Ok(End::Stopped(line)) => {
                if !self.found.truncated {
                    self.place = Some(SearchCursor::after(path, line.max(lines.after)));
                    self.stop();
                }
            }
            // A file that cannot be read is one among many.
            Ok(End::Binary) | Err(_) => {
                self.found.skipped += 1;
                self.is_done_with(path);
            }
        }
    }

    fn is_in(&mut self, dir: &Path) {
        let from = self.grep.from.as_ref();
        // On the way to where it goes on, it was further before.
        if !from.is_some_and(|from| from.path.starts_with(dir)) {
            self.place = Some(SearchCursor::after(dir, 0));
        }
    }

    fn is_done_with(&mut self, path: &Path) {
        self.place = Some(SearchCursor::after(path, u64::MAX));
    }

    fn hit(&mut self, path: &Path, hit: Hit) -> ControlFlow<()> {
        if self.found.matches.len() == self.grep.limit || self.size > MAX_TEXT {
            self.found.truncated = true;
            self.found.next = self.found.matches.last().map(LineMatch::cursor);
            return ControlFlow::Break(());
        }
        let found = LineMatch {
            path: shown(path),
            line: hit.number,
            column: hit.column,
            text: hit.text,
            before: hit.before,
            after: hit.after,
            at: path.to_owned(),
        };
        self.size += found.size();
        self.found.matches.push(found);
        ControlFlow::Continue(())
    }

    /// There is no time for more.
    fn stop(&mut self) {
        self.found.truncated = true;
        self.found.next = self.place.as_ref().map(SearchCursor::write);
    }
}

#[cfg(test)]
mod tests;
