//! Dependency files, as compilers write them for `make`: what was made of what.

/// More than this no compiler writes.
pub(super) const MOST: u64 = 4 << 20;

/// What the rules in `text` make, as it is written there. Without the rule `make` would not know when that has
/// to be made again.
pub(super) fn targets(text: &[u8]) -> Vec<Vec<u8>> {
    let mut targets = Vec::new();
    let mut goes_on = false;
    for line in text.split(|byte| *byte == b'\n') {
        let is_rest = goes_on;
        goes_on = line.ends_with(b"\\");
        if is_rest || line.starts_with(b"#") {
            continue;
        }
        if let Some(end) = rule(line) {
            targets.extend(words(&line[..end]));
        }
    }
    targets
}

/// All that the rules in `text` name.
pub(super) fn mentioned(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\\").unwrap_or(line));
    let mut mentioned: Vec<_> = lines.flat_map(words).collect();
    for word in &mut mentioned {
        if word.last() == Some(&b':') {
            word.pop();
        }
    }
    mentioned
}

/// Where the colon of a rule is.
fn rule(line: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b':', line).find(|at| {
        let next = line.get(at + 1);
        next.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\\' | b'\r'))
    })
}

/// A space that belongs to a name has a backslash before it.
fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word) = (Vec::new(), Vec::new());
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\'
                if bytes
                    .peek()
                    .is_some_and(|next| matches!(next, b' ' | b'#' | b':')) =>
            {
                word.extend(bytes.next());
            }
            b' ' | b'\t' => words.push(std::mem::take(&mut word)),
            _ => word.push(byte),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rules_make_is_found() {
        let text = b"a.o sub/b.o: /yard/a.c \\\n  /yard/a.h other.h\n\n/yard/a.h:\nwith\\ space.o : x\n# no: rule\nurl=http://x\n";
        let found = targets(text);
        let expected: [&[u8]; 4] = [b"a.o", b"sub/b.o", b"/yard/a.h", b"with space.o"];
        assert_eq!(found, expected);
        let mentioned = mentioned(b"a.o: a.c \\\n  b.h\nb.h:\n");
        assert_eq!(mentioned, [&b"a.o"[..], b"a.c", b"b.h", b"b.h"]);
        assert!(targets(b"#!/bin/sh\nexec /yard/prog \"$@\"\n").is_empty());
    }
}
