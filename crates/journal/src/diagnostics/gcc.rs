//! What gcc, clang and the linkers say without a line of source: the drivers' own errors, and
//! symbols that were not found. (What they say about a line of source has the form of [`super::generic`].)

use std::sync::LazyLock;

use regex::Regex;

use super::found::{Complaint, Weight};
use super::place::{self, SourcePlace};
use super::severity::severity;
use branchyard_model::Severity;

const TOOL: &str = "gcc";

/// `x86_64-linux-gnu-gcc-12: `, `/usr/bin/ld: `, `ld.lld: `, `cc1plus: `.
static PROGRAM: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant")]
    Regex::new(
        r"^(?:[^:\s]*/)?(?:[\w.]+-)*(?:gcc|g\+\+|cc|c\+\+|cpp|clang|clang\+\+|cc1|cc1plus|lto1|lto-wrapper|collect2|ld|ld\.\w+|lld|mold|as)(?:-[\d.]+)?: ",
    )
    .expect("a regular expression")
});

pub(super) fn parse(line: &str) -> Option<Complaint> {
    // A linker that rustc called is quoted in an indented note.
    let line = line.trim_start();
    let line = line.strip_prefix("= note: ").unwrap_or(line);
    let Some(program) = PROGRAM.find(line) else {
        return symbol(line);
    };
    let said = &line[program.end()..];
    if let Some((severity, message)) = severity(said) {
        let weight = match severity {
            Severity::Error if only_a_consequence(&message) => Weight::Hint,
            severity => severity.into(),
        };
        return Some(Complaint::new(TOOL, weight, None, &message));
    }
    symbol(said).or_else(|| {
        let linker = ["cannot find ", "cannot open "]
            .iter()
            .any(|word| said.starts_with(word))
            || ["relocation ", "not recognized"]
                .iter()
                .any(|word| said.contains(word));
        linker.then(|| Complaint::new(TOOL, Weight::Error, None, said))
    })
}

/// The driver's last word when its linker failed.
fn only_a_consequence(message: &str) -> bool {
    message.starts_with("ld returned ") || message.starts_with("linker command failed")
}

/// ``main.c:(.text+0x5): undefined reference to `foo'``, with a line in place of the section where the
/// object has debug information.
fn symbol(said: &str) -> Option<Complaint> {
    let at = ["undefined reference to ", "multiple definition of "]
        .iter()
        .find_map(|word| said.find(word))?;
    let (before, message) = said.split_at(at);
    let before = before.trim_end().strip_suffix(':')?;
    let place = match place::split(said) {
        Some((place, _)) => Some(place),
        // The object's name, then the source's: the last one before the section or the line counts.
        None => match before.rsplit_once(":(") {
            Some((file, _)) => SourcePlace::new(file.rsplit(':').next()?, None, None),
            None => SourcePlace::parse(before).and_then(|place| {
                SourcePlace::new(place.file.rsplit(':').next()?, place.line, place.column)
            }),
        },
    };
    Some(Complaint::new(TOOL, Weight::Error, place, message))
}
