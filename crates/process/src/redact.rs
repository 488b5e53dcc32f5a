//! Secrets are taken out of output before it reaches the disk, wherever a write cuts them in two.
//!
//! Hidden are a secret itself, its percent-encoded form, its form in JSON, its base64 (standard and URL
//! alphabet, at any place within the encoded text, as in `user:secret`), and each longer line of one
//! that has several, such as a PEM key. A build that means to print a secret always finds another disguise:
//! this is a guard against accidents.
//!
//! Terminal escapes within a secret, as `grep --color` writes them, do not hide it: a reader of output without
//! them would see it whole. So it is looked for in the bytes as they are, and in what is left without escapes.

mod visible;

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use self::visible::Visible;
use branchyard_journal::{AnsiFilter, ESC};

/// What is put in a secret's place.
pub(crate) const REDACTED: &str = "***";

/// Anything shorter (`dev`, `1234`, `true`) also stands in ordinary output, which would be shredded
/// for the sake of something that can be guessed anyway.
const SHORTEST: usize = 6;
/// A line of a longer secret is hidden on its own only where nothing else could look like it.
const SHORTEST_LINE: usize = 16;
/// As many as are searched for with vector instructions; with more it takes twenty times as long.
const AT_FULL_SPEED: usize = 48;
/// How much of a secret's beginning may be shown while the rest has not come.
const SHOWN_AT_MOST: usize = 8;

/// Takes the secrets out of one stream. A clone shares the tables and starts a stream of its own.
#[derive(Clone)]
pub struct Redactor {
    search: AhoCorasick,
    /// Where there are too many for one fast searcher, several that each know a part of them: nearly
    /// always they see that there is nothing.
    glance: Arc<[AhoCorasick]>,
    /// Sorted, so that whatever a text is the beginning of stands right behind it.
    hidden: Arc<[Vec<u8>]>,
    longest: usize,
    /// Which bytes something hidden begins with.
    begins: Arc<[bool; 256]>,
    /// The end of what came, as long as it may be the beginning of something hidden.
    held: Vec<u8>,
    /// How much of `held` was shown already, in a pause.
    shown: usize,
    /// Whether an escape sequence is under way where `held` begins, or else what comes next.
    escapes: AnsiFilter,
}

impl Redactor {
    /// None where there is nothing to hide.
    pub fn new(secrets: &[String]) -> Option<Self> {
        let mut hidden: Vec<_> = secrets.iter().flat_map(|secret| forms(secret)).collect();
        hidden.sort_unstable();
        hidden.dedup();
        let longest = hidden.iter().map(Vec::len).max()?;
        let mut begins = [false; 256];
        for first in hidden.iter().filter_map(|pattern| pattern.first()) {
            begins[usize::from(*first)] = true;
        }
        let search = searcher(&hidden)?;
        let glance = match hidden.len() {
            0..=AT_FULL_SPEED => Vec::new(),
            _ => hidden
                .chunks(AT_FULL_SPEED)
                .map(searcher)
                .collect::<Option<_>>()?,
        };
        Some(Self {
            search,
            glance: glance.into(),
            hidden: hidden.into(),
            longest,
            begins: Arc::new(begins),
            held: Vec::new(),
            shown: 0,
            escapes: AnsiFilter::default(),
        })
    }

    /// The same in the midst of a stream, with other secrets. None where there is nothing to hide.
    pub(crate) fn with_secrets(before: Option<Self>, secrets: &[String]) -> Option<Self> {
        let Some(before) = before else {
            return Self::new(secrets);
        };
        let mut after = Self::new(secrets)?;
        after.held = before.held;
        after.shown = before.shown;
        after.escapes = before.escapes;
        Some(after)
    }

    /// Appends to `out` what of `bytes`, after what was held back, can be given out now.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.held.is_empty() {
            let kept = self.take(bytes, out);
            self.held.extend_from_slice(&bytes[kept..]);
        } else {
            let mut text = mem::take(&mut self.held);
            text.extend_from_slice(bytes);
            let kept = self.take(&text, out);
            text.drain(..kept);
            self.shown = self.shown.saturating_sub(kept);
            self.held = text;
        }
    }

    /// Nothing came for a while, and viewers should see what there is. The first few bytes of what may
    /// become a secret (a quarter of it, at most 8) are ordinary enough to be shown; should the rest
    /// come after all, it is hidden. Anything longer is hardly there by chance and stays held back
    /// until more comes or the stream ends, so a pause never gives a secret away in two halves.
    pub fn pause(&mut self, out: &mut Vec<u8>) {
        let telling = |shown: usize, whole: usize| shown > SHOWN_AT_MOST.min(whole / 4);
        let is_secret = |text: &[u8]| {
            self.search.is_match(text) || self.unfinished(text, 0, telling) < text.len()
        };
        let visible = self.visible_in(&self.held);
        let secret =
            is_secret(&self.held) || visible.is_some_and(|visible| is_secret(visible.text()));
        if !secret {
            out.extend_from_slice(&self.held[self.shown..]);
            self.shown = self.held.len();
        }
    }

    /// A text that is whole, without what is hidden.
    pub fn whole(&mut self, text: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(text.len());
        self.feed(text, &mut shown);
        self.finish(&mut shown);
        shown
    }

    /// The stream has ended: gives out what was held back. Where it breaks off in the middle of a
    /// secret (its writer was killed) and more than half of that is there, that part is hidden too.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let text = mem::take(&mut self.held);
        let visible = self.visible_in(&text);
        let half = |there: usize, whole: usize| there > whole / 2;
        let broken_off = self.give(&text, visible.as_ref(), half, out);
        if broken_off < text.len() {
            out.extend_from_slice(REDACTED.as_bytes());
        }
        self.shown = 0;
        self.escapes = AnsiFilter::default();
    }

    /// Gives out what is decided in `text`, and returns from where on it is not.
    fn take(&mut self, text: &[u8], out: &mut Vec<u8>) -> usize {
        let visible = self.visible_in(text);
        let kept = self.give(text, visible.as_ref(), |_, _| true, out);
        match visible {
            Some(visible) if kept == text.len() => self.escapes = visible.into_end(),
            Some(_) => self.escapes.each_visible(&text[..kept], |_| {}),
            None => {}
        }
        kept
    }

    /// What of `text`, which begins where `held` does, is left without escapes; `None` where that is all of it.
    fn visible_in(&self, text: &[u8]) -> Option<Visible> {
        let is_plain = self.escapes.is_in_text() && memchr::memchr(ESC, text).is_none();
        (!is_plain).then(|| Visible::of(self.escapes.clone(), text))
    }

    /// Gives out what is decided in `text`, and returns from where on it is not: where an unfinished
    /// secret begins that `counts`. Where `text` has escapes in it, `visible` is what is left without them. A
    /// secret may stand in either; the first counts, and of those that begin together the longest.
    fn give(
        &self,
        text: &[u8],
        visible: Option<&Visible>,
        counts: impl Fn(usize, usize) -> bool,
        out: &mut Vec<u8>,
    ) -> usize {
        let undecided_from = |at: usize| {
            let seen = visible.and_then(|visible| {
                let from = visible.first_from(at);
                visible.place(self.unfinished(visible.text(), from, &counts))
            });
            let plain = self.unfinished(text, at, &counts);
            seen.map_or(plain, |seen| plain.min(seen))
        };
        let (mut at, mut undecided) = (0, undecided_from(0));
        let mut texts = [text].into_iter().chain(visible.map(Visible::text));
        if texts.all(|text| self.sees_nothing_in(text)) {
            self.show(text, at..undecided, out);
            return undecided;
        }
        // A match that begins where the text is undecided may yet become a longer one.
        while let Some(found) = self.first_from(text, visible, at)
            && found.start < undecided
        {
            self.show(text, at..found.start, out);
            // What the terminal shows after it is to look as it would have.
            let colour = visible::last_colour(text, found.clone());
            if !self.search.is_match(&text[colour.clone()]) {
                self.show(text, colour, out);
            }
            out.extend_from_slice(REDACTED.as_bytes());
            at = found.end;
            if undecided < at {
                undecided = undecided_from(at);
            }
        }
        self.show(text, at..undecided, out);
        undecided
    }

    /// Whether it is known at a glance that no secret is in `text`.
    fn sees_nothing_in(&self, text: &[u8]) -> bool {
        let nothing = |search: &AhoCorasick| !search.is_match(text);
        !self.glance.is_empty() && self.glance.iter().all(nothing)
    }

    /// Where in `text` the first secret stands that begins at `at` or after.
    fn first_from(
        &self,
        text: &[u8],
        visible: Option<&Visible>,
        at: usize,
    ) -> Option<Range<usize>> {
        let plain = self.search.find(Input::new(text).range(at..));
        let seen = visible.and_then(|visible| {
            let input = Input::new(visible.text()).range(visible.first_from(at)..);
            let found = self.search.find(input)?;
            Some(visible.place(found.start())?..visible.place(found.end() - 1)? + 1)
        });
        let plain = plain.map(|found| found.range());
        plain
            .into_iter()
            .chain(seen)
            .min_by_key(|found| (found.start, std::cmp::Reverse(found.end)))
    }

    fn show(&self, text: &[u8], range: Range<usize>, out: &mut Vec<u8>) {
        let from = range.start.max(self.shown).min(range.end);
        out.extend_from_slice(&text[from..range.end]);
    }

    /// Where, at `from` or after, the longest end of `text` begins that is an unfinished secret and, by
    /// its length and the secret's, `counts`; the text's length if there is none.
    fn unfinished(&self, text: &[u8], from: usize, counts: impl Fn(usize, usize) -> bool) -> usize {
        let from = from.max(text.len().saturating_sub(self.longest - 1));
        (from..text.len())
            .filter(|at| self.begins[usize::from(text[*at])])
            .find(|at| {
                let end = &text[*at..];
                let behind = self.hidden.partition_point(|secret| &secret[..] <= end);
                self.hidden[behind..]
                    .iter()
                    .take_while(|secret| secret.starts_with(end))
                    .any(|secret| counts(end.len(), secret.len()))
            })
            .unwrap_or(text.len())
    }
}

/// A DFA would take megabytes for a few keys, and hardly be faster: its prefilter does the work.
fn searcher(hidden: &[Vec<u8>]) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(hidden)
        .ok()
}

/// Everything that a secret can look like.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    // The newline at the end of a key's file is not printed with it.
    let secret = secret.trim();
    if secret.len() < SHORTEST {
        return Vec::new();
    }
    let mut forms = vec![secret.as_bytes().to_vec(), percent_encoded(secret)];
    for shift in 0..3 {
        forms.push(within_base64(&STANDARD_NO_PAD, secret, shift));
        forms.push(within_base64(&URL_SAFE_NO_PAD, secret, shift));
    }
    forms.push(escaped(secret));
    // What is JSON has a key's newlines escaped within one line.
    let lines = secret.lines().flat_map(|line| line.split("\\n"));
    let telling = |line: &&str| line.len() >= SHORTEST_LINE && !line.starts_with("-----");
    let lines = lines.map(str::trim).filter(telling);
    forms.extend(lines.map(|line| line.as_bytes().to_vec()));
    forms
}

/// As it stands in JSON, and, mostly, where a program quotes its environment.
fn escaped(secret: &str) -> Vec<u8> {
    let quoted = serde_json::Value::from(secret).to_string().into_bytes();
    quoted[1..quoted.len() - 1].to_vec()
}

/// As `encodeURIComponent` and most others do it.
fn percent_encoded(secret: &str) -> Vec<u8> {
    let mut encoded = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded.into_bytes()
}

/// The characters that the secret alone decides in the base64 of a text that has `shift` bytes (plus
/// any threes) before it. A last character that it shares with what follows gives nothing away.
fn within_base64(engine: &impl Engine, secret: &str, shift: usize) -> Vec<u8> {
    let mut text = vec![0; shift];
    text.extend_from_slice(secret.as_bytes());
    let (from, to) = ((shift * 8).div_ceil(6), text.len() * 8 / 6);
    engine.encode(&text).into_bytes()[from..to].to_vec()
}

#[cfg(test)]
mod tests;
