//! What a sweep lets go of, and what it does not.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use branchyard_artifacts::{ArtifactLimits, ArtifactStore, SetOwner, Swept};
use branchyard_model::PipelineId;
use jiff::{SignedDuration, Timestamp};

use crate::yard::{DoneOnDrop, Yard, write};

const HOURS: SignedDuration = SignedDuration::from_hours(2);
const NEVER: &dyn Fn(&SetOwner, &str) -> bool = &|_, _| false;

/// Has all blobs be collected two hours ago.
fn age_blobs(yard: &Yard) {
    let old = SystemTime::now() - Duration::from_secs(7_200);
    for group in fs::read_dir(yard.state().join("artifacts/blobs")).unwrap() {
        for blob in fs::read_dir(group.unwrap().path()).unwrap() {
            File::open(blob.unwrap().path())
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
    }
}

#[test]
fn a_set_that_has_expired_goes_and_its_blobs_unless_another_has_them() {
    let yard = Yard::new();
    let now = Timestamp::now();
    yard.write(&["shared", "short/own"]);
    let short = Duration::from_secs(3_600);
    yard.collect_with("short", &["."], |request| request.keep = Some(short))
        .unwrap();
    yard.collect("long", &["shared"]).unwrap();
    age_blobs(&yard);
    assert_eq!(yard.store.sweep(now, NEVER).unwrap(), Swept::default());
    let pinned = yard.store.sweep(now + HOURS, &|owner, name| {
        *owner == yard.owner && name == "short"
    });
    assert_eq!(pinned.unwrap(), Swept::default());
    let swept = yard.store.sweep(now + HOURS, NEVER).unwrap();
    assert_eq!(
        swept,
        Swept {
            sets: 1,
            blobs: 1,
            bytes: 9
        }
    );
    assert!(yard.store.set(&yard.owner, "short").is_none());
    let long = yard.store.set(&yard.owner, "long").unwrap();
    assert!(yard.store.open_blob(&long.files[0].sha256).is_ok());
}

#[test]
fn the_time_that_is_asked_for_can_only_be_shorter() {
    let yard = Yard::with(ArtifactLimits {
        keep: Duration::from_secs(100),
        ..ArtifactLimits::default()
    });
    yard.write(&["a"]);
    let now = Timestamp::now();
    for (name, keep, seconds) in [
        ("none", None, 100),
        ("long", Some(1000), 100),
        ("short", Some(10), 10),
    ] {
        let collected = yard.collect_with(name, &["a"], |request| {
            request.now = now;
            request.keep = keep.map(Duration::from_secs);
        });
        let expires_at = collected.unwrap().set.unwrap().expires_at;
        assert_eq!(
            expires_at,
            Some(now + SignedDuration::from_secs(seconds)),
            "{name}"
        );
    }
}

#[test]
fn the_oldest_sets_go_where_all_are_too_much_and_blobs_count_once() {
    let yard = Yard::with(ArtifactLimits {
        max_bytes: 250,
        ..ArtifactLimits::default()
    });
    let start = Timestamp::now();
    write(&yard.job().join("shared"), [9; 100]);
    for n in 0..4_i8 {
        write(&yard.job().join(format!("{n}/own")), [n.unsigned_abs(); 50]);
        let own = format!("{n}");
        let collected = yard.collect_with(&own, &["shared", &own], |request| {
            request.now = start + SignedDuration::from_secs(n.into());
        });
        collected.unwrap();
    }
    age_blobs(&yard);
    let pinned = |_: &SetOwner, name: &str| name == "0";
    let swept = yard.store.sweep(start, &pinned).unwrap();
    assert_eq!(
        swept,
        Swept {
            sets: 1,
            blobs: 1,
            bytes: 50
        }
    );
    let names: Vec<_> = yard
        .store
        .sets(&yard.owner)
        .unwrap()
        .into_iter()
        .map(|set| set.name)
        .collect();
    assert_eq!(names, ["0", "2", "3"]);
    assert_eq!(yard.store.usage().unwrap().bytes, 250);
}

#[test]
fn a_blob_without_a_set_stays_for_an_hour() {
    let yard = Yard::new();
    yard.write(&["a"]);
    let set = yard.set("a");
    yard.store.remove_owner(&yard.owner).unwrap();
    assert!(yard.store.sets(&yard.owner).unwrap().is_empty());
    yard.store
        .remove_owner(&SetOwner::Pipeline(PipelineId::new()))
        .unwrap();
    assert_eq!(yard.store.sweep(Timestamp::now(), NEVER).unwrap().blobs, 0);
    assert!(yard.store.open_blob(&set.files[0].sha256).is_ok());
    assert_eq!(
        yard.store
            .sweep(Timestamp::now() + HOURS, NEVER)
            .unwrap()
            .blobs,
        1
    );
    assert!(yard.store.open_blob(&set.files[0].sha256).is_err());
}

#[test]
fn a_set_that_is_damaged_is_put_aside_and_holds_up_nothing() {
    let yard = Yard::new();
    yard.write(&["a"]);
    yard.set("cut");
    let owner = yard
        .state()
        .join("artifacts/sets")
        .join(yard.owner.to_string());
    fs::write(owner.join("cut.json"), "").unwrap();
    assert!(yard.store.set(&yard.owner, "cut").is_none());
    assert!(yard.store.sets(&yard.owner).unwrap().is_empty());
    yard.set("cut");
    fs::write(owner.join("cut.json"), "{").unwrap();
    assert_eq!(
        yard.store
            .sweep(Timestamp::now() + HOURS, NEVER)
            .unwrap()
            .blobs,
        1
    );
    assert!(owner.join("cut.json.damaged").exists());
}

#[test]
fn what_was_staged_when_the_daemon_died_goes_at_the_next_start() {
    let yard = Yard::new();
    yard.write(&["a"]);
    let set = yard.set("a");
    write(&yard.state().join("artifacts/staging/dead/0"), "half");
    let store = ArtifactStore::open(&yard.state(), ArtifactLimits::default()).unwrap();
    assert_eq!(yard.staged(), 0);
    assert_eq!(store.set(&yard.owner, "a"), Some(set));
}

#[test]
fn a_sweep_takes_nothing_from_a_collect_that_is_under_way() {
    let yard = Yard::new();
    for n in 0..40 {
        write(&yard.job().join(format!("d/{n}")), format!("content {n}"));
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _done = DoneOnDrop(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // To each of these, every blob without a set is old.
                yard.store
                    .sweep(Timestamp::now() + HOURS, &|_, name| name != "goes")
                    .unwrap();
            }
        });
        for n in 0..60 {
            yard.collect("goes", &["d"]).unwrap();
            let set = yard
                .collect(&format!("stays {n}"), &["d"])
                .unwrap()
                .set
                .unwrap();
            for file in &set.files {
                assert!(
                    yard.store.open_blob(&file.sha256).is_ok(),
                    "{n}: {}",
                    file.path
                );
            }
            yard.store.remove_owner(&yard.owner).unwrap();
        }
    });
}
