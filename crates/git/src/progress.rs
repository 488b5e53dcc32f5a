//! Percentages out of git's progress output.

/// Follows `git fetch --progress` and tells when the whole has come further.
#[derive(Debug, Default)]
pub struct Percent {
    line: Vec<u8>,
    last: Option<u8>,
}

impl Percent {
    /// Takes a piece of standard error; the new percentage, if it rose.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<u8> {
        let mut risen = None;
        for &byte in bytes {
            if byte == b'\r' || byte == b'\n' {
                if let Some(percent) = whole_percent(&self.line)
                    && self.last.is_none_or(|last| percent > last)
                {
                    self.last = Some(percent);
                    risen = Some(percent);
                }
                self.line.clear();
            } else if self.line.len() < 256 {
                self.line.push(byte);
            }
        }
        risen
    }
}

/// Small fetches are unpacked, large ones received and resolved. Receiving is most of the work, resolving the rest; counting on the far side is not ours to wait for.
fn whole_percent(line: &[u8]) -> Option<u8> {
    let line = std::str::from_utf8(line).ok()?;
    let (stage, rest) = line.split_once(':')?;
    let percent: u8 = rest.trim_start().split_once('%')?.0.parse().ok()?;
    match stage {
        "Receiving objects" | "Unpacking objects" => Some(percent.min(100) / 10 * 9),
        "Resolving deltas" => Some(90 + percent.min(100) / 10),
        _ => None,
    }
}

/// The end of git's own words, without progress lines.
pub(super) fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.rsplit('\r').next())
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.contains("% ("))
        .collect();
    lines[lines.len().saturating_sub(8)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_only_rise() {
        let mut percent = Percent::default();
        assert_eq!(percent.feed(b"remote: Counting objects: 50% (1/2)\r"), None);
        assert_eq!(
            percent.feed(b"Receiving objects:  50% (5/10)\rReceiv"),
            Some(45)
        );
        assert_eq!(percent.feed(b"ing objects:  40% (4/10)\r"), None);
        assert_eq!(
            percent.feed(b"Resolving deltas: 100% (3/3), done.\n"),
            Some(100)
        );
    }
}
