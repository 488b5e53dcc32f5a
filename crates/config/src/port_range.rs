//! `ports` of builds: the range that workspaces get theirs from.

use std::borrow::Cow;

use super::value::{Text, TextKind};

/// The ports of one workspace, in a row.
pub const PORTS_EACH: u16 = 10;
/// Below it, ports are privileged.
const LOWEST: u16 = 1024;

/// Two ports, such as `20000-29999`.
pub type PortRange = Text<PortRanges>;

#[derive(Clone, PartialEq, Eq)]
pub enum PortRanges {}

impl TextKind for PortRanges {
    const EXPECTED: &'static str = r#"the first and the last port, such as "20000-29999""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let (first, last) = bounds(text).ok_or("it is not two ports with a '-' between them")?;
        if first < LOWEST {
            return Err(format!("ports below {LOWEST} are privileged"));
        }
        if last < first.saturating_add(PORTS_EACH - 1) {
            return Err(format!("it has fewer than {PORTS_EACH} ports"));
        }
        Ok(text.into())
    }
}

impl PortRange {
    /// What it is unless the operator says otherwise: outside of what Linux gives to outgoing connections.
    pub(super) fn usual() -> Self {
        Self::known("20000-29999")
    }

    /// The first port of each workspace that has room in it.
    pub fn firsts(&self) -> impl Iterator<Item = u16> + use<> {
        // Text that breaks the rule is not kept; without bounds there would be nothing in it.
        let (first, last) = bounds(self.as_str()).unwrap_or((1, 0));
        (first..=last)
            .step_by(PORTS_EACH.into())
            .filter(move |first| last - first >= PORTS_EACH - 1)
    }
}

fn bounds(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_room_for_whole_workspaces() {
        let firsts = |text| PortRange::parse(text).map(|range| range.firsts().collect::<Vec<_>>());
        assert_eq!(firsts("2000-2029").unwrap(), [2000, 2010, 2020]);
        assert_eq!(firsts("2000-2028").unwrap(), [2000, 2010]);
        assert_eq!(firsts("65520-65535").unwrap(), [65520]);
        for wrong in [
            "",
            "2000",
            "2000-",
            "80-2000",
            "2000-2008",
            "3000-2000",
            "1-70000",
            "a-b",
        ] {
            assert!(PortRange::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(PortRange::usual().firsts().count(), 1000);
        assert!(PortRange::parse(PortRange::usual().as_str()).is_ok());
    }
}
