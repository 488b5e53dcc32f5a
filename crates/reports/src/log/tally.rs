//! Summaries: `1 failed, 2 passed`.

/// Each number of a summary with its word; `None` if something else is in it. No run has more tests than a `u32`
/// counts, so a greater number is none of a summary.
pub(super) fn tally<'a>(text: &'a str, separator: &str) -> Option<Vec<(u64, &'a str)>> {
    let parts = text.split(separator).map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let counted = parts.map(|part| {
        let (number, word) = part.split_once(' ')?;
        Some((u64::from(number.parse::<u32>().ok()?), word))
    });
    let counted: Vec<_> = counted.collect::<Option<_>>()?;
    (!counted.is_empty()).then_some(counted)
}
