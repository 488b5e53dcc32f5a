//! A sample for tests of test reports.

/// Adds.
///
/// ```
/// assert_eq!(sample::add(1, 2), 3);
/// ```
///
/// ```
/// assert_eq!(sample::add(1, 2), 4, "documented <wrongly>");
/// ```
pub fn add(one: u32, other: u32) -> u32 {
    one + other
}

#[cfg(test)]
mod tests {
    #[test]
    fn passes() {
        println!("test fake ... ok");
        assert_eq!(super::add(1, 2), 3);
    }

    #[test]
    fn fails() {
        println!("printed before");
        panic!("expected <a> & <b>\n  got: \x1b[31mred\x1b[0m übel ✗ 日本");
    }

    #[test]
    fn returns_an_error() -> Result<(), String> {
        Err("returned & <lost>".to_owned())
    }

    #[test]
    #[ignore = "not today"]
    fn is_ignored() {}

    #[test]
    #[should_panic]
    fn panics_as_expected() {
        panic!("as expected");
    }
}
