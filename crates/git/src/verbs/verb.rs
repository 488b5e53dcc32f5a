//! A git verb as callers know it. The module of a verb has all of it together: its [`VerbEntry`], what it takes, what it
//! gives, what it does, and its answer in words.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Everything about a verb but what it takes, gives and does.
#[derive(Debug, Clone, Copy)]
pub struct VerbEntry {
    /// One word for addresses, such as `cherry_pick`; agents know it as `git_cherry_pick`.
    pub name: &'static str,
    pub title: &'static str,
    /// What it does, when to use it, what to do next: for agents, in one to three sentences.
    pub description: &'static str,
    pub effect: Effect,
}

/// What a verb does to the yard, which also decides the scope that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    pub writes: bool,
    /// It may discard something, though what is work is saved first.
    pub destroys: bool,
    /// To do it twice is to do it once.
    pub repeats: bool,
    /// It may talk to the remote.
    pub reaches_out: bool,
}

impl Effect {
    pub const READS: Self = Self {
        writes: false,
        destroys: false,
        repeats: true,
        reaches_out: false,
    };
    pub const WRITES: Self = Self {
        writes: true,
        repeats: false,
        ..Self::READS
    };
    pub const DESTROYS: Self = Self {
        destroys: true,
        ..Self::WRITES
    };

    pub const fn repeatable(self) -> Self {
        Self {
            repeats: true,
            ..self
        }
    }

    pub const fn reaching_out(self) -> Self {
        Self {
            reaches_out: true,
            ..self
        }
    }
}

/// The answer of a verb. It is read again where it was too long for an answer, to be told in words.
pub trait Render: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The same in a few lines, for people and models.
    fn text(&self) -> String;

    /// Leaves out the end of a list that callers go through page by page, so that the rest takes about `room` bytes of
    /// JSON, and says where to go on; whether it has such a list. What has none is truncated by one rule for all answers.
    fn page(&mut self, _room: usize) -> bool {
        false
    }
}
