//! The five fields of a schedule.

/// The least and the greatest number of a field, and names for its numbers from the least on.
struct Field {
    least: u8,
    most: u8,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    field(0, 59, &[]),
    field(0, 23, &[]),
    field(1, 31, &[]),
    field(
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    field(0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

const fn field(least: u8, most: u8, names: &'static [&'static str]) -> Field {
    Field { least, most, names }
}

/// Whether this is a schedule, as GitHub takes it: five fields of numbers, names, ranges, steps and lists.
pub(super) fn is_cron(text: &str) -> bool {
    let written: Vec<&str> = text.split(' ').filter(|part| !part.is_empty()).collect();
    written.len() == FIELDS.len()
        && FIELDS
            .iter()
            .zip(written)
            .all(|(field, written)| written.split(',').all(|item| field.has_item(item)))
}

impl Field {
    fn has_item(&self, item: &str) -> bool {
        match item.split_once('/') {
            Some((range, step)) => {
                self.has_range(range) && self.number(step).is_some_and(|step| step > 0)
            }
            None => self.has_range(item),
        }
    }

    fn has_range(&self, range: &str) -> bool {
        match range.split_once('-') {
            _ if range == "*" => true,
            Some((from, to)) => match (self.value(from), self.value(to)) {
                (Some(from), Some(to)) => from <= to,
                _ => false,
            },
            None => self.value(range).is_some(),
        }
    }

    fn value(&self, text: &str) -> Option<u8> {
        let mut names = (self.least..).zip(self.names);
        let named = names.find(|(_, name)| name.eq_ignore_ascii_case(text));
        named
            .map(|(number, _)| number)
            .or_else(|| self.number(text))
    }

    fn number(&self, text: &str) -> Option<u8> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number)?;
        (self.least..=self.most).contains(&number).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_have_five_fields_within_their_bounds() {
        for text in [
            "0 3 * * *",
            "*/15 0-23 1,15 jan-mar MON-fri",
            "5  4 31 12 6",
            "0-30/10 * * * SUN",
            "59 23 1 DEC 0",
        ] {
            assert!(is_cron(text), "{text}");
        }
        for text in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "0 24 * * *",
            "0 0 0 * *",
            "0 0 32 * *",
            "0 0 * 13 *",
            "0 0 * * 7",
            "*/0 * * * *",
            "1,,2 * * * *",
            "5-1 * * * *",
            "1/2/3 * * * *",
            "a * * * *",
            "+1 * * * *",
            "mon * * * *",
            "@daily",
        ] {
            assert!(!is_cron(text), "{text}");
        }
    }
}
