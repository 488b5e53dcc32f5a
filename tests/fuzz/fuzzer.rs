//! The loop that all targets share.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::dice::Dice;
use crate::mutate::mutate;

/// How long new input is tried in `make test`, and in `make soak`, where `FUZZ_SECONDS` says nothing else.
pub const SHORT: Duration = Duration::from_secs(1);
pub const LONG: Duration = Duration::from_secs(600);

/// However busy the machine is, so many inputs are tried.
const AT_LEAST: u64 = 200;
/// One input takes milliseconds; one that takes this long never ends.
const PATIENCE: Duration = Duration::from_secs(60);
const MAKING_IT_SMALL: Duration = Duration::from_secs(10);
/// Inputs to go on from. Beyond that the oldest that was found makes way.
const KEPT: usize = 4096;

/// A reader under test.
pub struct Target {
    /// Its directory under `seeds/`.
    pub name: &'static str,
    /// Words that mean something to it.
    pub words: &'static [&'static str],
    /// An input of the kind that it expects.
    pub make: fn(&mut Dice) -> Vec<u8>,
}

impl Target {
    /// Tries inputs until the time is over. `check` panics where a rule is broken; otherwise it says what
    /// it saw, and whatever led to something unseen is kept to go on from.
    pub fn run<S: Hash>(&self, time: Duration, mut check: impl FnMut(&[u8]) -> S) {
        leave_the_machine_to_others();
        let seed = seed(time);
        let mut dice = Dice::new(seed);
        let under_trial = watch(self.name);
        let mut attempt = |input: &[u8]| {
            *under_trial.lock().expect("nobody panics with it") =
                Some((Instant::now(), input.to_vec()));
            let seen = panic::catch_unwind(AssertUnwindSafe(|| check(input)));
            *under_trial.lock().expect("nobody panics with it") = None;
            seen.map(|seen| {
                let mut hash = DefaultHasher::new();
                seen.hash(&mut hash);
                hash.finish()
            })
        };

        let mut kept = self.seeds();
        assert!(!kept.is_empty(), "{} has no seeds", self.name);
        let mut seen = HashSet::new();
        for input in kept.clone() {
            match attempt(&input) {
                Ok(outcome) => drop(seen.insert(outcome)),
                Err(_) => self.tell(&input, seed, &mut attempt),
            }
        }
        let (begun, mut tried, known) = (Instant::now(), 0u64, kept.len());
        while begun.elapsed() < time || tried < AT_LEAST {
            let input = if dice.one_in(4) {
                (self.make)(&mut dice)
            } else {
                let (one, other) = (dice.below(kept.len()), dice.below(kept.len()));
                mutate(&kept[one], &kept[other], self.words, &mut dice)
            };
            tried += 1;
            match attempt(&input) {
                Ok(outcome) if seen.insert(outcome) => {
                    if kept.len() == KEPT {
                        kept.remove(known);
                    }
                    kept.push(input);
                }
                Ok(_) => {}
                Err(_) => self.tell(&input, seed, &mut attempt),
            }
        }
        println!(
            "{}: {tried} inputs in {:?} from seed {seed}, {} outcomes",
            self.name,
            begun.elapsed(),
            seen.len()
        );
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fuzz/seeds")
            .join(self.name);
        let mut files: Vec<_> = fs::read_dir(&dir)
            .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        files.iter().map(|file| fs::read(file).unwrap()).collect()
    }

    /// Makes the input small, writes it down, and fails by it.
    fn tell<E>(
        &self,
        input: &[u8],
        seed: u64,
        attempt: &mut impl FnMut(&[u8]) -> Result<u64, E>,
    ) -> ! {
        let said = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let small = smallest(input, |input| attempt(input).is_err());
        panic::set_hook(said);
        let file = write_down(self.name, &small);
        eprintln!(
            "{}: from seed {seed}; keep it under tests/fuzz/seeds/{}",
            file.display(),
            self.name
        );
        eprintln!("{:?}", String::from_utf8_lossy(&small));
        let again = attempt(&small);
        assert!(
            again.is_ok(),
            "{}: the input in {} breaks a rule",
            self.name,
            file.display()
        );
        panic!(
            "{}: the input in {} broke a rule once only",
            self.name,
            file.display()
        );
    }
}

/// The input with as much taken out as can be while it still `fails`.
fn smallest(input: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let (mut small, begun) = (input.to_vec(), Instant::now());
    let mut part = small.len().div_ceil(2);
    while part > 0 && begun.elapsed() < MAKING_IT_SMALL {
        let (mut at, before) = (0, small.len());
        while at < small.len() && begun.elapsed() < MAKING_IT_SMALL {
            let mut less = small.clone();
            less.drain(at..(at + part).min(small.len()));
            if fails(&less) {
                small = less;
            } else {
                at += part;
            }
        }
        if part > 1 || small.len() == before {
            part /= 2;
        }
    }
    small
}

fn write_down(target: &str, input: &[u8]) -> PathBuf {
    let mut hash = DefaultHasher::new();
    input.hash(&mut hash);
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let dir = built.join("fuzz").join(target);
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join(format!("{:016x}", hash.finish()));
    fs::write(&file, input).unwrap();
    file
}

type UnderTrial = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

/// An input that never ends cannot be caught: it is written down, and the test with it ends here.
fn watch(target: &'static str) -> UnderTrial {
    let under_trial = UnderTrial::default();
    let watched = Arc::downgrade(&under_trial);
    std::thread::spawn(move || {
        while let Some(trial) = watched.upgrade() {
            if let Some((since, input)) = &*trial.lock().expect("nobody panics with it")
                && since.elapsed() > PATIENCE
            {
                eprintln!(
                    "{target}: {} never ends",
                    write_down(target, input).display()
                );
                std::process::abort();
            }
            drop(trial);
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    under_trial
}

/// The time that a target has: what `FUZZ_SECONDS` says, or else the usual.
pub fn time(usual: Duration) -> Duration {
    number_of("FUZZ_SECONDS").map_or(usual, Duration::from_secs)
}

/// The same for every short run, so that a change is not refused for what another one did; the long ones
/// look further, each on its own way. `FUZZ_SEED` repeats what one has tried.
fn seed(time: Duration) -> u64 {
    let usual = (time <= SHORT).then_some(1);
    number_of("FUZZ_SEED").or(usual).unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::from(now.subsec_nanos()) ^ now.as_secs() << 30
    })
}

fn number_of(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={value:?} is not a number")),
    )
}

/// Other tests wait for daemons most of the time: this one takes what they leave.
fn leave_the_machine_to_others() {
    // Without that it only disturbs them more.
    let _ = rustix::process::setpriority_process(None, 10);
}
