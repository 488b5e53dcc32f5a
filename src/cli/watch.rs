//! Watching a stream to its end, whatever shows it.

use super::exit::{self, Failure};
use super::signals::Interrupts;
use super::stream::{Ending, Event, EventStream, More};

/// What shows events to people and programs.
pub(super) trait Viewer {
    /// Takes one event and its line. Output is on its way after [`Self::flush`].
    fn take(&mut self, line: &[u8], event: Event<'_>) -> Result<(), Failure>;

    /// Writes what has gathered.
    fn flush(&mut self) -> Result<(), Failure>;

    /// Something to know that is no event.
    fn note(&mut self, text: &str) -> Result<(), Failure>;

    /// Leaves the terminal to an error that follows.
    fn clear(&mut self);

    /// Says how it ended, where nothing else does; gives our exit code for it.
    fn ended(&mut self, ending: &Ending) -> Result<u8, Failure>;
}

/// Shows everything until the end, and makes the end ours.
pub(super) async fn watch(
    mut stream: EventStream,
    interrupts: &Interrupts,
    viewer: &mut impl Viewer,
) -> Result<u8, Failure> {
    interrupts.subject_is(stream.subject());
    let watched = watch_to_the_end(&mut stream, interrupts, viewer).await;
    let told = match watched {
        Ok(ending) => viewer.ended(&ending),
        Err(failure) => {
            viewer.clear();
            Err(failure)
        }
    };
    match told {
        // Whatever became of it, it was Ctrl-C that ended it for whoever pressed it.
        Ok(_) if interrupts.happened() => Ok(exit::CANCELLED),
        Err(mut failure) if interrupts.happened() => {
            failure.exit = exit::CANCELLED;
            Err(failure)
        }
        told => told,
    }
}

async fn watch_to_the_end(
    stream: &mut EventStream,
    interrupts: &Interrupts,
    viewer: &mut impl Viewer,
) -> Result<Ending, Failure> {
    loop {
        match stream.more().await {
            More::Bytes => {}
            More::Broken(cause) => {
                viewer.note("the connection broke; taking it up again")?;
                stream.resume(&cause).await?;
                continue;
            }
            More::NothingLeft => return stream.recorded_ending().await,
            More::Ended(ending) => return Ok(*ending),
        }
        let shown = stream
            .drain(|line, event| viewer.take(line, event))
            .and_then(|ending| viewer.flush().map(|()| ending));
        match shown {
            Ok(Some(ending)) => return Ok(ending),
            Ok(None) => {}
            Err(failure) => {
                interrupts.abandon().await;
                return Err(failure);
            }
        }
    }
}
