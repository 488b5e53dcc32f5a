//! Many conflicts in little room: all of their names first, then as much about each as still fits.

use super::Conflict;

/// Makes the list fit into about `room` bytes of JSON: later conflicts lose their stages and hunks, and
/// where even the names are too many, the last go. Returns how many went.
pub fn fit(conflicts: &mut Vec<Conflict>, room: usize) -> usize {
    let size = |conflict: &Conflict| {
        // The comma behind it counts too.
        serde_json::to_vec(conflict).map_or(usize::MAX, |json| json.len() + 1)
    };
    let names: Vec<usize> = conflicts
        .iter()
        .map(|conflict| size(&bare(conflict)))
        .collect();
    let mut left = room;
    let fitting = names.iter().take_while(|name| {
        let rest = left.checked_sub(**name);
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    // One is always told: a list without any says that there are none.
    let fitting = fitting.count().max(1).min(conflicts.len());
    let gone = conflicts.len() - fitting;
    conflicts.truncate(fitting);
    for (conflict, name) in conflicts.iter_mut().zip(names) {
        let more = size(conflict).saturating_sub(name);
        match left.checked_sub(more) {
            Some(rest) => left = rest,
            None => *conflict = bare(conflict),
        }
    }
    gone
}

/// With its name and kind alone.
fn bare(conflict: &Conflict) -> Conflict {
    Conflict {
        stages: None,
        hunks: None,
        truncated: conflict.truncated || conflict.stages.is_some() || conflict.hunks.is_some(),
        ..conflict.clone()
    }
}
