//! The task of a group: it tells in the group's journal which of its runs start and end, and sums
//! them up.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::{mpsc, watch};

use super::LiveGroup;
use super::disk::Saved;
use crate::finish::TRY_AGAIN;
use crate::{Runs, launch, stop_note};
use branchyard_journal::{Extent, FrameKind, Reader, Writer, length};
use branchyard_model::{
    Event, GroupId, GroupRecord, Member, MemberEnded, MemberStarted, OnDisconnect, RunId, RunState,
    Summary,
};

/// What is told of one member.
enum News {
    Started(MemberStarted),
    Ended(Box<MemberEnded>),
}

/// What the journal of a group says so far.
#[derive(Default)]
pub(super) struct Told {
    started: HashSet<RunId>,
    ended: HashMap<RunId, MemberEnded>,
    summary: Option<Summary>,
}

pub(super) fn follow_group(
    this: &Runs,
    saved: Saved,
    told: Told,
    on_disconnect: OnDisconnect,
    (journal, extent): (Writer, watch::Receiver<Extent>),
) {
    let id = saved.record.group_id;
    let live = Arc::new(LiveGroup {
        viewers: launch::viewers(this, on_disconnect),
        record: watch::channel(saved.record.clone()).0,
        extent,
        leaving: this.inner().leaving.clone(),
    });
    if let Some(reason) = stop_note::read(&this.inner().groups.disk.home(id)) {
        live.viewers.stop(&reason);
    }
    this.inner().groups.live.insert(id, live.clone());
    let runs = this.clone();
    this.inner().tasks.spawn(async move {
        until_group_ended(&runs, saved, told, &live, journal).await;
        live.viewers.close();
        runs.inner().groups.live.remove(&id);
    });
}

async fn until_group_ended(
    runs: &Runs,
    mut saved: Saved,
    mut told: Told,
    live: &LiveGroup,
    mut journal: Writer,
) {
    let (id, members) = (saved.record.group_id, saved.record.members.clone());
    let (tell, mut news) = mpsc::unbounded_channel();
    for member in &members {
        if told.summary.is_none() && !told.ended.contains_key(&member.run_id) {
            let watching = watch_member(runs.clone(), member.clone(), tell.clone());
            runs.inner().tasks.spawn(watching);
        }
    }
    drop(tell);
    let mut stopping = false;
    loop {
        tokio::select! {
            next = news.recv() => match next {
                Some(News::Started(started)) if told.started.contains(&started.member.run_id) => {}
                Some(News::Started(started)) => {
                    // What cannot be told now, the summary tells.
                    note(id, journal.event(&Event::Started(started)));
                }
                Some(News::Ended(ended)) => {
                    note(id, journal.event(&Event::Ended((*ended).clone())));
                    told.ended.insert(ended.member.run_id, *ended);
                }
                None => break,
            },
            () = live.viewers.stopped(), if !stopping => {
                stopping = true;
                let reason = live.viewers.reason().cloned().unwrap_or_default();
                for member in &members {
                    if let Some(run) = runs.live(member.run_id) {
                        run.viewers().stop(&reason);
                    }
                }
            }
            () = live.leaving.cancelled() => return,
        }
    }
    // All of its runs were started, and keep for themselves what they still need.
    if !saved.request.env.is_empty() {
        saved.request.env.clear();
        note(
            id,
            runs.inner()
                .margin
                .spend(|| runs.inner().groups.disk.save(&saved)),
        );
    }
    let mut is_told = told.summary.is_some();
    let ended = Timestamp::now();
    let summary = told.summary.take().unwrap_or_else(|| {
        let results = members.iter().map(|member| {
            let known = told.ended.remove(&member.run_id);
            known.unwrap_or_else(|| MemberEnded::lost(member))
        });
        let duration = ended.duration_since(saved.record.created_at).as_millis();
        Summary::of(results.collect(), u64::try_from(duration).unwrap_or(0))
    });
    let record: &mut GroupRecord = &mut saved.record;
    (record.state, record.ended_at) = (summary.state, Some(ended));
    live.record.send_replace(record.clone());
    // Told first: a group on record as ended is not looked at again by the next daemon.
    let summary = Event::Summary(summary);
    loop {
        let margin = &runs.inner().margin;
        is_told = is_told || note(id, margin.spend(|| journal.event(&summary)));
        if is_told && note(id, margin.spend(|| runs.inner().groups.disk.save(&saved))) {
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(TRY_AGAIN) => {}
            () = live.leaving.cancelled() => return,
        }
    }
    journal.close();
}

/// Tells when a member's command starts and when it ends.
async fn watch_member(runs: Runs, member: Member, tell: mpsc::UnboundedSender<News>) {
    let tell = |news| {
        // The group's task is gone where the daemon leaves.
        let _ = tell.send(news);
    };
    if let Some(run) = runs.live(member.run_id) {
        let mut record = run.watch();
        let begun = |state: RunState| state == RunState::Running || state.is_ended();
        tokio::select! {
            _ = record.wait_for(|record| begun(record.state)) => {}
            () = run.leaving().cancelled() => return,
        }
        let now = record.borrow().clone();
        if now.started_at.is_some() {
            tell(News::Started(MemberStarted {
                member: member.clone(),
                commit: now.about.map(|about| about.commit),
            }));
        }
        run.ended().await;
        if !run.has_ended() {
            return;
        }
    }
    let record = runs.record(member.run_id).ok();
    let ended = record.and_then(|record| MemberEnded::of(&member, &record));
    let ended = ended.unwrap_or_else(|| MemberEnded::lost(&member));
    tell(News::Ended(Box::new(ended)));
}

/// Whether it was written; if not, the log says why.
fn note(group: GroupId, written: io::Result<()>) -> bool {
    written
        .inspect_err(|error| tracing::error!(%group, %error, "failed to write how a group goes"))
        .is_ok()
}

impl Told {
    /// Whether anything was told of a run: it was there then, even if it is not any more.
    pub(super) fn knows(&self, run: RunId) -> bool {
        self.started.contains(&run) || self.ended.contains_key(&run)
    }

    pub(super) fn read(journal: &std::path::Path) -> io::Result<Self> {
        let (mut reader, len) = (Reader::open(journal)?, length(journal)?);
        let mut told = Self::default();
        while let Some((frame, _)) = reader.next(len)? {
            if frame.kind != FrameKind::Event {
                continue;
            }
            match serde_json::from_slice(frame.payload) {
                Ok(Event::Started(started)) => {
                    told.started.insert(started.member.run_id);
                }
                Ok(Event::Ended(ended)) => {
                    told.ended.insert(ended.member.run_id, ended);
                }
                Ok(Event::Summary(summary)) => told.summary = Some(summary),
                _ => {}
            }
        }
        Ok(told)
    }
}
