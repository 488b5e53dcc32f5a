//! Long lists in answers of limited size.

use serde::Serialize;

/// Leaves out the end of a list, so that the rest takes about `room` bytes. One is always left: who goes on behind it
/// must get on. Returns how many were left out.
pub(super) fn shorten<T: Serialize>(list: &mut Vec<T>, room: usize) -> usize {
    let mut taken = 0;
    let fits = |item: &T| {
        // With what stands between it and the next one.
        taken += 2 + serde_json::to_string(item).map_or(0, |json| json.len());
        taken <= room
    };
    let fitting = list.iter().map(fits).take_while(|fits| *fits).count();
    let fitting = fitting.max(1).min(list.len());
    let left_out = list.len() - fitting;
    list.truncate(fitting);
    left_out
}

/// The same of a list that may not be told at all; `left_out` counts.
pub(super) fn shorten_told<T: Serialize>(
    list: &mut Option<Vec<T>>,
    room: usize,
    left_out: &mut Option<usize>,
) {
    let gone = list.as_mut().map_or(0, |list| shorten(list, room));
    if gone > 0 {
        *left_out = Some(left_out.unwrap_or(0) + gone);
    }
}

/// What is said of entries that are missing.
pub(super) fn missing(left_out: Option<usize>) -> String {
    left_out.map_or_else(String::new, |count| {
        format!("\n({count} more, for which there was no room)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut list = vec!["abc"; 10];
        assert_eq!(shorten(&mut list, 21), 7);
        assert_eq!(list.len(), 3);
        let (mut told, mut left_out) = (Some(list), Some(7));
        shorten_told(&mut told, 7, &mut left_out);
        assert_eq!((told.map(|list| list.len()), left_out), (Some(1), Some(9)));
        let mut long = vec!["x".repeat(100); 3];
        assert_eq!((shorten(&mut long, 10), long.len()), (2, 1));
    }
}
