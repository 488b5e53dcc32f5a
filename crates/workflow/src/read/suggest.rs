//! Which known name was probably meant.

/// A file may have thousands of names, and as many that are wrong.
const MAX_COMPARED: usize = 256;

/// "; did you mean x?" if a known name is close, else nothing.
pub(crate) fn suggestion<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let written = written.to_lowercase();
    let known = known
        .into_iter()
        .take(MAX_COMPARED)
        .map(|name| (distance(&written, &name.to_lowercase()), name));
    let allowed = ((written.len() + 1) / 3).min(3);
    match known.min_by_key(|(distance, _)| *distance) {
        Some((distance, name)) if distance <= allowed => format!("; did you mean `{name}`?"),
        _ => String::new(),
    }
}

/// How many characters differ (Levenshtein). Long names are not compared.
fn distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 64;
    if a.len() > LONGEST || b.len() > LONGEST {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested() {
        let known = ["steps", "strategy", "needs"];
        assert_eq!(suggestion("step", known), "; did you mean `steps`?");
        assert_eq!(suggestion("Stratgey", known), "; did you mean `strategy`?");
        assert_eq!(suggestion("on", known), "");
        assert_eq!(suggestion(&"x".repeat(100), known), "");
    }
}
