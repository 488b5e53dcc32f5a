//! Values as people like to read them, and text that is safe to show.

use jiff::Timestamp;

/// `1.5 MiB`
pub(crate) fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut unit = 0;
    let mut whole = bytes;
    let mut rest = 0;
    while whole >= 1024 && unit + 1 < UNITS.len() {
        rest = whole % 1024;
        whole /= 1024;
        unit += 1;
    }
    if unit == 0 {
        format!("{whole} B")
    } else {
        format!("{whole}.{} {}", rest * 10 / 1024, UNITS[unit])
    }
}

/// `5m ago`: the largest unit is enough for an age.
pub(crate) fn human_age(moment: Timestamp, now: Timestamp) -> String {
    match now.duration_since(moment).as_secs() {
        // The daemon's clock may be a little ahead of ours.
        i64::MIN..5 => "now".to_owned(),
        seconds @ 5..60 => format!("{seconds}s ago"),
        seconds @ 60..3600 => format!("{}m ago", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h ago", seconds / 3600),
        seconds => format!("{}d ago", seconds / 86_400),
    }
}

/// `1.2s`, `2m05s`, `1h02m`, `3d04h`
pub(crate) fn human_duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..60 => format!("{seconds}.{}s", millis % 1000 / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

pub(crate) fn short_commit(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

/// Control characters, and those that reorder text, spelt out.
pub(crate) fn printable(text: &str) -> String {
    let is_harmful =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(is_harmful) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_harmful(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_ages_and_durations_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_572_864, "1.5 MiB"),
            (u64::MAX, "16383.9 PiB"),
        ] {
            assert_eq!(human_size(bytes), text);
        }
        let now: Timestamp = "2024-05-06T07:08:09Z".parse().unwrap();
        for (seconds, text) in [
            (-60, "now"),
            (2, "now"),
            (59, "59s ago"),
            (61, "1m ago"),
            (7300, "2h ago"),
            (200_000, "2d ago"),
        ] {
            let moment = now - jiff::SignedDuration::from_secs(seconds);
            assert_eq!(human_age(moment, now), text);
        }
        for (millis, text) in [
            (40, "0.0s"),
            (1240, "1.2s"),
            (59_999, "59.9s"),
            (125_000, "2m05s"),
            (3_720_000, "1h02m"),
            (273_600_000, "3d04h"),
        ] {
            assert_eq!(human_duration(millis), text);
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(printable("a\u{1b}]52;c;x\u{7}"), "a\\u{1b}]52;c;x\\u{7}");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(printable("日本語 ü"), "日本語 ü");
    }
}
