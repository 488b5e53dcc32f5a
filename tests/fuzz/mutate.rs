//! An input that is nearly one that was tried before.

use crate::dice::Dice;

/// No input grows beyond this: more of the same finds nothing new, and takes long.
const LONGEST: usize = 8 * 1024;

/// A changed copy of `input`; `other` is another one to take parts from, `words` what its reader knows.
pub fn mutate(input: &[u8], other: &[u8], words: &[&str], dice: &mut Dice) -> Vec<u8> {
    let mut changed = input.to_vec();
    for _ in 0..=dice.below(4) {
        change(&mut changed, other, words, dice);
    }
    changed.truncate(LONGEST);
    changed
}

fn change(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], dice: &mut Dice) {
    let at = dice.below(bytes.len() + 1);
    let some = some_of(bytes.len() - at, dice);
    match dice.below(9) {
        0 => bytes.insert(at, dice.byte()),
        1 => drop(bytes.drain(at..at + some)),
        2 => {
            let part = bytes[at..at + some].to_vec();
            insert(bytes, at, &part);
        }
        3 => {
            let from = dice.below(other.len() + 1);
            let part = &other[from..from + some_of(other.len() - from, dice)];
            insert(bytes, at, part);
        }
        4 | 5 if !words.is_empty() => insert(bytes, at, dice.pick(words).as_bytes()),
        6 => insert(bytes, at, dice.letter().to_string().as_bytes()),
        7 => bytes.truncate(at),
        _ if at < bytes.len() => bytes[at] = odd_byte(bytes[at], dice),
        _ => {}
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}

/// A length: mostly short, now and then all that is left.
fn some_of(left: usize, dice: &mut Dice) -> usize {
    match dice.below(4) {
        0 => dice.below(left + 1),
        _ => dice.below(left.min(8) + 1),
    }
}

fn odd_byte(was: u8, dice: &mut Dice) -> u8 {
    match dice.below(4) {
        0 => was ^ (1 << dice.below(8)),
        1 => was.wrapping_add(1),
        2 => [0, 0x7f, 0x80, 0xff][dice.below(4)],
        _ => dice.byte(),
    }
}
