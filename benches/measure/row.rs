//! One line of the report.

use serde::Serialize;

use super::series::{Series, Summary};

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Seconds,
    Bytes,
    BytesPerSecond,
    PerSecond,
    Instructions,
    Count,
}

/// What a row is held to; values are in the row's unit.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    AtMost(f64),
    AtLeast(f64),
    /// Beyond what the plain tool takes.
    MoreAtMost(f64),
    /// This much, or this share of what the plain way gives, whichever is less.
    AtLeastOrRatio(f64, f64),
}

#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Of the report, which sets it.
    pub group: &'static str,
    pub name: String,
    pub unit: Unit,
    pub yard: Summary,
    /// What the yard is compared with.
    pub against: Option<String>,
    pub plain: Option<Summary>,
    /// The yard over the plain tool: of each round, then the middle of these.
    pub ratio: Option<Summary>,
    pub target: Option<Aim>,
    pub met: Option<bool>,
    #[serde(skip)]
    rounds: Series,
}

impl Row {
    pub fn new(name: impl Into<String>, unit: Unit, yard: &Series) -> Self {
        Self {
            group: "",
            name: name.into(),
            unit,
            yard: yard.summary(),
            against: None,
            plain: None,
            ratio: None,
            target: None,
            met: None,
            rounds: yard.clone(),
        }
    }

    /// Beside another method's values of the same rounds.
    pub fn beside(mut self, against: impl Into<String>, plain: &Series) -> Self {
        self.against = Some(against.into());
        self.plain = Some(plain.summary());
        self.ratio = Some(self.rounds.over(plain).summary());
        self
    }

    pub fn aiming(mut self, aim: Aim) -> Self {
        let ratio = self.ratio.map(|ratio| ratio.median);
        let plain = self.plain.map(|plain| plain.median);
        let yard = self.yard.median;
        self.target = Some(aim);
        self.met = match aim {
            Aim::RatioAtMost(most) => ratio.map(|ratio| ratio <= most),
            Aim::RatioAtLeast(least) => ratio.map(|ratio| ratio >= least),
            Aim::AtMost(most) => Some(yard <= most),
            Aim::AtLeast(least) => Some(yard >= least),
            Aim::MoreAtMost(most) => plain.map(|plain| yard - plain <= most),
            Aim::AtLeastOrRatio(least, share) => {
                Some(yard >= least || ratio.is_some_and(|ratio| ratio >= share))
            }
        };
        self
    }

    /// The target as people read it.
    pub fn aim(&self) -> String {
        let Some(aim) = self.target else {
            return String::new();
        };
        match aim {
            Aim::RatioAtMost(most) => format!("≤ {most}×"),
            Aim::RatioAtLeast(least) => format!("≥ {least}×"),
            Aim::AtMost(most) => format!("≤ {}", self.unit.show(most)),
            Aim::AtLeast(least) => format!("≥ {}", self.unit.show(least)),
            Aim::MoreAtMost(most) => format!("≤ +{}", self.unit.show(most)),
            Aim::AtLeastOrRatio(least, share) => {
                format!("≥ {} or {share}×", self.unit.show(least))
            }
        }
    }
}

impl Unit {
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Seconds if value >= 1.0 => format!("{value:.2} s"),
            Self::Seconds if value >= 1e-3 => format!("{:.2} ms", value * 1e3),
            Self::Seconds => format!("{:.0} µs", value * 1e6),
            Self::Bytes => binary(value),
            Self::BytesPerSecond => format!("{}/s", decimal(value, "B")),
            Self::PerSecond => format!("{}/s", decimal(value, "")),
            Self::Instructions | Self::Count => format!("{value:.0}"),
        }
    }
}

fn binary(bytes: f64) -> String {
    match bytes {
        ..1048576.0 => format!("{:.1} KiB", bytes / 1024.0),
        _ => format!("{:.1} MiB", bytes / 1048576.0),
    }
}

fn decimal(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value {
        1e9.. => (value / 1e9, " G"),
        1e6.. => (value / 1e6, " M"),
        1e4.. => (value / 1e3, " k"),
        _ => (value, if unit.is_empty() { "" } else { " " }),
    };
    match scaled {
        100.0.. => format!("{scaled:.0}{prefix}{unit}"),
        _ => format!("{scaled:.1}{prefix}{unit}"),
    }
}
