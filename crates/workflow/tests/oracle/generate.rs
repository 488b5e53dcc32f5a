//! Expressions from a seed: mostly right ones, of all operators, functions and kinds of access, and some broken ones.

use crate::words::{BINARY, JSON, NAMES, NOISE, NUMBERS, PATHS, SPACES, TEMPLATES, TEXTS};

/// A generator of numbers (splitmix64) that gives the same ones on every machine.
pub(crate) struct Generator {
    state: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end as u64).unwrap()
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    /// One in eight is broken by a character that is put in, taken out or doubled.
    pub(crate) fn expression(&mut self) -> String {
        let depth = self.below(5);
        let text = self.value(depth);
        if !self.one_in(8) {
            return text;
        }
        let mut chars: Vec<char> = text.chars().collect();
        let at = self.below(chars.len());
        match self.below(3) {
            0 => drop(chars.remove(at)),
            1 => chars.insert(at, chars[at]),
            _ => chars.splice(at..at, self.of(NOISE).chars()).for_each(drop),
        }
        chars.into_iter().collect()
    }

    fn value(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let space = self.of(SPACES);
        match self.below(12) {
            0 => self.leaf(),
            1..=4 => {
                let (left, right) = (self.value(depth - 1), self.value(depth - 1));
                let other = self.of(SPACES);
                format!("{left}{space}{}{other}{right}", self.of(BINARY))
            }
            5 => format!("!{space}{}", self.value(depth - 1)),
            6 => format!("({space}{}{space})", self.value(depth - 1)),
            7 => {
                let of = match self.below(3) {
                    0 => format!("({})", self.value(depth - 1)),
                    1 => self.call(depth),
                    _ => self.of(PATHS).to_owned(),
                };
                self.accessed(of, depth)
            }
            _ => self.call(depth),
        }
    }

    fn leaf(&mut self) -> String {
        match self.below(8) {
            0 => self.of(&["true", "false", "null"]).to_owned(),
            1 => self.of(NUMBERS).to_owned(),
            2 | 3 => self.of(TEXTS).to_owned(),
            4 => format!("fromJSON({})", quoted(self.of(JSON))),
            5 => {
                let path = self.of(PATHS).to_owned();
                self.accessed(path, 0)
            }
            _ => self.of(PATHS).to_owned(),
        }
    }

    fn accessed(&mut self, mut of: String, depth: usize) -> String {
        for _ in 0..=self.below(3) {
            of = match self.below(6) {
                0 | 1 => format!("{of}.{}", self.of(NAMES)),
                2 => format!("{of}.*"),
                3 => format!(
                    "{of}[{}]",
                    self.of(&[
                        "*", "0", "1", "-1", "1.9", "99", "true", "null", "'a'", "'NAME'"
                    ])
                ),
                4 => format!("{of}['{}']", self.of(NAMES)),
                _ => format!("{of}[{}]", self.value(depth.saturating_sub(1))),
            };
        }
        of
    }

    fn call(&mut self, depth: usize) -> String {
        let inner = depth - 1;
        let (name, arguments): (_, Vec<String>) = match self.below(10) {
            0 => ("contains", self.values(inner, 2)),
            1 => ("startsWith", self.values(inner, 2)),
            2 => ("endsWith", self.values(inner, 2)),
            3 | 4 => {
                let given = self.below(4);
                let template = quoted(self.of(TEMPLATES));
                let values = self.values(inner, given);
                ("format", std::iter::once(template).chain(values).collect())
            }
            5 => {
                let given = 1 + self.below(2);
                ("join", self.values(inner, given))
            }
            6 => ("toJSON", self.values(inner, 1)),
            7 => {
                let is_text = self.one_in(2);
                let text = quoted(self.of(JSON));
                (
                    "fromJSON",
                    if is_text {
                        vec![text]
                    } else {
                        self.values(inner, 1)
                    },
                )
            }
            8 => ("case", self.cases(inner)),
            _ => match self.below(4) {
                // Too many or too few.
                0 => {
                    let given = self.below(4);
                    let name = self.of(&["contains", "join", "toJSON", "case", "nope"]);
                    (name, self.values(inner, given))
                }
                _ => ("contains", self.values(inner, 2)),
            },
        };
        let name = match self.below(6) {
            0 => name.to_uppercase(),
            1 => name.to_lowercase(),
            _ => name.to_owned(),
        };
        let comma = self.of(&[",", ", ", " ,\n"]);
        format!("{name}({})", arguments.join(comma))
    }

    /// Conditions with their values; one in four is neither true nor false.
    fn cases(&mut self, depth: usize) -> Vec<String> {
        let mut arguments = Vec::new();
        for _ in 0..=self.below(2) {
            let is_any = self.one_in(4);
            let condition = self.value(depth);
            arguments.push(if is_any {
                condition
            } else {
                format!("!({condition})")
            });
            arguments.push(self.value(depth));
        }
        arguments.push(self.value(depth));
        arguments
    }

    fn values(&mut self, depth: usize, count: usize) -> Vec<String> {
        (0..count).map(|_| self.value(depth)).collect()
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
