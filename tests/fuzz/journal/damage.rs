//! What may become of a file on a disk.

use std::fs;
use std::path::Path;

use crate::script::Script;

/// What happens to a file.
pub struct Damage(Vec<(u8, usize, u8)>);

impl Damage {
    pub fn read(script: &mut Script<'_>) -> Self {
        let count = script.byte() % 4;
        Self(
            (0..count)
                .map(|_| (script.byte(), script.number(), script.byte()))
                .collect(),
        )
    }

    pub fn happen(&self, file: &Path) {
        let mut bytes = fs::read(file).unwrap_or_default();
        for (kind, at, byte) in &self.0 {
            let at = at % (bytes.len() + 1);
            match kind % 6 {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, *byte),
                2 => bytes.extend(std::iter::repeat_n(*byte, at.min(64))),
                3 => bytes.extend_from_within(at..),
                4 if at < bytes.len() => drop(bytes.remove(at)),
                _ if at < bytes.len() => bytes[at] ^= (*byte).max(1),
                _ => {}
            }
        }
        fs::write(file, bytes).unwrap();
    }
}
