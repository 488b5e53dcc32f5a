//! Looks at a workspace are bounded in time and in number. Our own code waits for no file that a build controls; but
//! without a sandbox a build can reach the store as well, and a file system may not answer. Then such looks hold
//! threads of their own, a few for each workspace and for each repo, and never those that other requests need.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

use super::Error;
use branchyard_model::{BranchName, ErrorKind, Problem};

/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a list waits for one of its workspaces.
pub const LIST_PATIENCE: Duration = Duration::from_secs(10);
/// Looks at one workspace at a time; a caller beyond that waits.
const AT_ONCE: usize = 64;
/// How often a caller who waits for a place looks whether there is going to be one.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// The code of the problem that a caller gets then.
const UNRESPONSIVE: &str = "workspace_unresponsive";

type Held = (Option<OwnedSemaphorePermit>, Option<OwnedSemaphorePermit>);

/// The looks at one workspace.
#[derive(Debug)]
pub(super) struct ScanLimit {
    places: Arc<Semaphore>,
    /// Looks that were given up and still hold their thread.
    overdue: Arc<AtomicUsize>,
}

impl Default for ScanLimit {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            overdue: Arc::default(),
        }
    }
}

impl ScanLimit {
    /// Runs a blocking look at the workspace of `branch`, which changes nothing, on a thread of its own. A look that
    /// takes too long is given up: the caller gets a problem, and the thread ends when it can.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        of_repo: &Arc<Semaphore>,
        branch: &BranchName,
        look: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let end = Instant::now() + PATIENCE;
        let (tell, told) = oneshot::channel();
        let (waiting, under_way) = self.begin();
        let Some(held) = self.places(of_repo, end).await else {
            return Err(unresponsive(branch).into());
        };
        let thread = std::thread::Builder::new().name("look".to_owned());
        let started = thread.spawn(move || {
            let _held = (held, under_way);
            // The caller may have given up.
            let _ = tell.send(look());
        });
        drop(started.map_err(Error::io("start a thread"))?);
        let found = timeout_at(end, told).await;
        drop(waiting);
        match found {
            Ok(Ok(found)) => found,
            Ok(Err(_)) => {
                let panicked = std::io::Error::other("the look at the workspace panicked");
                Err(Error::io("look at the workspace")(panicked))
            }
            Err(_) => Err(unresponsive(branch).into()),
        }
    }

    /// A place among the looks at this workspace, and one among those at its repo; `None` where there is none in time.
    async fn places(&self, of_repo: &Arc<Semaphore>, end: Instant) -> Option<Held> {
        let both = async { (place(&self.places).await, place(of_repo).await) };
        tokio::pin!(both);
        loop {
            tokio::select! {
                held = &mut both => return Some(held),
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
            // All places are held by looks that were given up: none of them is going to end soon.
            let is_stuck = self.overdue.load(Ordering::SeqCst) >= AT_ONCE;
            if is_stuck || Instant::now() >= end {
                return None;
            }
        }
    }

    /// The two ends of a look: the caller's and the thread's.
    fn begin(&self) -> (WaitingCaller, UnderWay) {
        let look = Arc::new(Look {
            has_one_end: AtomicBool::new(false),
            overdue: self.overdue.clone(),
        });
        (WaitingCaller(look.clone()), UnderWay(look))
    }
}

/// A look counts as overdue from when its caller leaves until its thread ends.
#[derive(Debug)]
struct Look {
    /// The caller has left, or the thread has ended.
    has_one_end: AtomicBool,
    overdue: Arc<AtomicUsize>,
}

struct WaitingCaller(Arc<Look>);

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        // First, so that the thread's end never takes away what was not added.
        self.0.overdue.fetch_add(1, Ordering::SeqCst);
        if self.0.has_one_end.swap(true, Ordering::SeqCst) {
            self.0.overdue.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

struct UnderWay(Arc<Look>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.0.has_one_end.swap(true, Ordering::SeqCst) {
            self.0.overdue.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// `None` only where the semaphore was closed, which it never is.
async fn place(places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    places.clone().acquire_owned().await.ok()
}

pub fn unresponsive(branch: &BranchName) -> Problem {
    let detail = format!("the workspace of {branch} does not answer");
    Problem::new(ErrorKind::Unavailable, UNRESPONSIVE, detail)
        .field("branch")
        .help("something in its files or in its store blocks every reader, such as a FIFO or a file system that hangs: stop the run that made it, or remove the workspace with `force`")
}
