//! An issuer's keys, kept for a while. The issuer is asked by one caller at a time, never more often than
//! was agreed, and what it said last goes on to count while it cannot be reached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use super::issuer::Issuer;
use super::keys::Keys;
use super::token::Token;

/// For how long keys count that could not be looked at again.
const LONGEST_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(super) struct Jwks {
    issuer: Issuer,
    /// Between two questions, so that tokens with invented keys cannot make the daemon hammer the issuer.
    refetch: Duration,
    known: Mutex<KnownKeys>,
    /// Whose it is to ask.
    turn: Arc<Turn<()>>,
}

#[derive(Debug, Default)]
struct KnownKeys {
    held: Option<HeldKeys>,
    asked: Option<Instant>,
}

#[derive(Debug)]
struct HeldKeys {
    keys: Arc<Keys>,
    since: Instant,
    fresh_for: Duration,
}

/// What there is for a token.
#[derive(Debug)]
enum CachedKeys {
    /// A key, and nothing says that it has changed.
    Fresh(Arc<Keys>),
    /// A key that may have been taken back meanwhile.
    Old(Arc<Keys>),
    Nothing,
}

impl Jwks {
    pub(super) fn new(issuer: Issuer, refetch: Duration) -> Self {
        Self {
            issuer,
            refetch,
            known: Mutex::default(),
            turn: Arc::default(),
        }
    }

    pub(super) async fn prepare(self: Arc<Self>) {
        let turn = self.turn.clone().lock_owned().await;
        if self.known.lock().asked.is_none() {
            self.ask(turn).await;
        }
    }

    /// The keys to check a token with, after the issuer was asked where that is due. `None` if there are no
    /// keys at all.
    pub(super) async fn keys(self: &Arc<Self>, token: &Token<'_>) -> Option<Arc<Keys>> {
        let found = self.known.lock().look(token, Instant::now());
        let turn = match found {
            CachedKeys::Fresh(keys) => return Some(keys),
            CachedKeys::Old(keys) => match self.turn.clone().try_lock_owned() {
                Ok(turn) => turn,
                // Somebody asks right now; that much older it does not get.
                Err(_) => return Some(keys),
            },
            CachedKeys::Nothing => self.turn.clone().lock_owned().await,
        };
        // Somebody may have asked while this one waited.
        if self.is_due(token) {
            // In a task of its own: callers who go away would else end it, again and again.
            let asking = tokio::spawn(self.clone().ask(turn));
            if let Err(error) = asking.await {
                tracing::error!(%error, "asking the issuer for its keys was broken off");
            }
        }
        self.known.lock().kept(Instant::now())
    }

    fn is_due(&self, token: &Token<'_>) -> bool {
        let (known, now) = (self.known.lock(), Instant::now());
        known.may_ask(self.refetch, now) && !matches!(known.look(token, now), CachedKeys::Fresh(_))
    }

    async fn ask(self: Arc<Self>, turn: OwnedMutexGuard<()>) {
        self.known.lock().asked = Some(Instant::now());
        let issuer = self.issuer.name();
        match self.issuer.keys().await {
            Ok(published) => {
                if published.keys.is_empty() {
                    tracing::warn!(issuer, "the issuer has no key that can be used here");
                }
                self.known.lock().held = Some(HeldKeys {
                    keys: Arc::new(published.keys),
                    since: Instant::now(),
                    fresh_for: published.fresh_for,
                });
            }
            Err(error) => tracing::warn!(issuer, error, "the issuer's keys could not be had"),
        }
        drop(turn);
    }
}

impl KnownKeys {
    fn look(&self, token: &Token<'_>, now: Instant) -> CachedKeys {
        let Some(held) = &self.held else {
            return CachedKeys::Nothing;
        };
        let age = now.saturating_duration_since(held.since);
        let keys = held.keys.clone();
        match keys.know(token) {
            true if age < held.fresh_for => CachedKeys::Fresh(keys),
            true if age < LONGEST_KEPT => CachedKeys::Old(keys),
            _ => CachedKeys::Nothing,
        }
    }

    fn kept(&self, now: Instant) -> Option<Arc<Keys>> {
        let held = self.held.as_ref()?;
        let age = now.saturating_duration_since(held.since);
        (age < LONGEST_KEPT).then(|| held.keys.clone())
    }

    fn may_ask(&self, refetch: Duration, now: Instant) -> bool {
        let since = |asked| now.saturating_duration_since(asked);
        self.asked.is_none_or(|asked| since(asked) >= refetch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "eyJhbGciOiJFZERTQSIsImtpZCI6ImEifQ.e30.AA";
    const SET: &[u8] = br#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    #[test]
    fn keys_grow_old_and_go() {
        let token = Token::read(TOKEN).unwrap();
        let minutes = |n: u64| Duration::from_secs(n * 60);
        let start = Instant::now();
        let mut known = KnownKeys::default();
        assert!(matches!(known.look(&token, start), CachedKeys::Nothing));
        assert!(known.kept(start).is_none());
        known.held = Some(HeldKeys {
            keys: Arc::new(Keys::of_set(SET, &[]).unwrap()),
            since: start,
            fresh_for: minutes(5),
        });
        let look = |after| known.look(&token, start + after);
        assert!(matches!(look(minutes(4)), CachedKeys::Fresh(_)));
        assert!(matches!(look(minutes(5)), CachedKeys::Old(_)));
        assert!(matches!(look(minutes(23 * 60)), CachedKeys::Old(_)));
        assert!(matches!(look(minutes(24 * 60)), CachedKeys::Nothing));
        assert!(known.kept(start + minutes(23 * 60)).is_some());
        assert!(known.kept(start + minutes(24 * 60)).is_none());
    }

    #[test]
    fn an_issuer_is_not_asked_again_at_once() {
        let start = Instant::now();
        let refetch = Duration::from_secs(10);
        let mut known = KnownKeys::default();
        assert!(known.may_ask(refetch, start));
        known.asked = Some(start);
        assert!(!known.may_ask(refetch, start + Duration::from_secs(9)));
        assert!(known.may_ask(refetch, start + refetch));
    }
}
