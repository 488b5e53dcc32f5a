//! A journal to be followed, of a run or of a group, live or ended: one path for all.

use std::path::PathBuf;

use bytes::Bytes;
use tokio::sync::watch;
use tokio_stream::Stream;

use super::viewers::Viewers;
use branchyard_journal::{Cursor, Extent, Output, SharedReader, Sink, follow, length};
use branchyard_model::{ErrorKind, Problem};

#[derive(Debug, Clone)]
pub struct View {
    /// Unless it has ended.
    viewers: Option<Viewers>,
    journal: PathBuf,
    extent: watch::Receiver<Extent>,
    /// Shared with whoever else follows it.
    stage: SharedReader,
}

impl View {
    pub fn of_live(journal: PathBuf, extent: &watch::Receiver<Extent>, viewers: &Viewers) -> Self {
        Self {
            stage: viewers.stage(),
            viewers: Some(viewers.clone()),
            journal,
            extent: extent.clone(),
        }
    }

    pub fn of_ended(journal: PathBuf) -> Result<Self, Problem> {
        // An ended journal is whole: a torn tail was cut when its run was given an end.
        let len = length(&journal).map_err(|error| unreadable(&error))?;
        let (_, extent) = watch::channel(Extent { len, closed: true });
        Ok(Self {
            viewers: None,
            journal,
            extent,
            stage: SharedReader::default(),
        })
    }

    /// The place after all that there is now.
    pub fn end(&self) -> Cursor {
        Cursor {
            frame: self.extent.borrow().len,
            within: 0,
        }
    }

    /// Whether a viewer at `cursor` has seen all there will ever be.
    pub fn is_done(&self, cursor: Cursor) -> bool {
        let extent = *self.extent.borrow();
        extent.closed && cursor.frame == extent.len && cursor.within == 0
    }

    /// Whether the journal grows no more.
    pub fn is_closed(&self) -> bool {
        self.extent.borrow().closed
    }

    /// Looks at what was printed so far, where blocking is allowed.
    pub async fn with_output<T: Send + 'static>(
        &self,
        look: impl FnOnce(Output) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let (path, len) = (self.journal.clone(), self.extent.borrow().len);
        tokio::task::spawn_blocking(move || look(Output::open(&path, len)?))
            .await
            .map_err(|error| unreadable(&error))?
            .map_err(|error| unreadable(&error))
    }

    /// The journal from `cursor` on, through `sink`. Refused before anything is sent if the cursor is
    /// not of this journal.
    pub async fn follow<S: Sink>(
        &self,
        cursor: Cursor,
        sink: S,
    ) -> Result<impl Stream<Item = std::io::Result<Bytes>> + Send + use<S>, Problem> {
        let len = self.extent.borrow().len;
        let enter = async {
            let showing = self.stage.enter(&self.journal).await?;
            Ok(showing.check(cursor, len).await?.map(|()| showing))
        };
        let showing = enter
            .await
            .map_err(|error: std::io::Error| unreadable(&error))??;
        Ok(follow(showing, cursor, self.extent.clone(), sink))
    }

    pub fn viewers(&self) -> &Option<Viewers> {
        &self.viewers
    }
}

fn unreadable(error: &dyn std::error::Error) -> Problem {
    Problem::new(
        ErrorKind::Internal,
        "journal_unreadable",
        format!("the journal cannot be read: {error}"),
    )
}
