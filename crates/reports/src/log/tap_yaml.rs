//! The block of YAML below a test point. Only what producers write there is read: keys, and text that is indented.

use crate::excerpt::MessageText;
use crate::source_line::SourceLine;

pub(super) struct YamlBlock {
    indent: usize,
    key: String,
    message: MessageText,
    at: Option<SourceLine>,
    ms: Option<u64>,
    file: Option<String>,
}

impl YamlBlock {
    pub(super) fn new(indent: usize) -> Self {
        Self {
            indent,
            key: String::new(),
            message: MessageText::default(),
            at: None,
            ms: None,
            file: None,
        }
    }

    /// `false` if the line is behind the block.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if line.trim().is_empty() {
            self.text("");
            return true;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        if indent < self.indent {
            return false;
        }
        let said = &line[self.indent..];
        if said == "..." {
            return false;
        }
        match said.split_once(':') {
            Some((key, value)) if indent == self.indent => {
                self.key = key.to_owned();
                self.value(key, value);
            }
            Some((key, value)) if self.key == "at" => self.value(key.trim(), value),
            _ => self.text(said.strip_prefix("  ").unwrap_or(said)),
        }
        true
    }

    /// The message, the place and the milliseconds.
    pub(super) fn finish(self) -> (MessageText, Option<SourceLine>, Option<u64>) {
        (self.message, self.at, self.ms)
    }

    fn text(&mut self, text: &str) {
        if self.key == "message" || self.key == "error" {
            self.message.push_line(text);
            self.at = self.at.take().or_else(|| SourceLine::in_words(text));
        }
    }

    fn value(&mut self, key: &str, value: &str) {
        let value = value.trim();
        let value = ['\'', '"'].into_iter().fold(value, |value, quote| {
            let inner = value.strip_prefix(quote);
            inner
                .and_then(|inner| inner.strip_suffix(quote))
                .unwrap_or(value)
        });
        match key {
            "message" | "error" if !matches!(value, "|" | "|-" | ">" | ">-" | "") => {
                self.message.push_line(value);
            }
            "duration_ms" => self.ms = crate::seconds::with_unit(&format!("{value}ms")),
            "location" | "at" => self.at = SourceLine::parse(value).or(self.at.take()),
            "file" => self.file = Some(value.to_owned()),
            "line" => {
                let file = self.file.take();
                self.at = file.and_then(|file| SourceLine::parse(&format!("{file}:{value}")));
            }
            _ => {}
        }
    }
}
