//! How values become numbers and texts, and how they compare. GitHub follows JavaScript here, but for the case of texts.

use std::cmp::Ordering;
use std::sync::Arc;

use super::value::ExprValue;

/// The digits after the point that a number keeps in a text.
const DIGITS: usize = 15;
/// From here on JavaScript writes an exponent, and below the other end of it.
const LEAST_EXPONENT: i32 = -7;
const MOST_EXPONENT: i32 = 21;

pub(crate) fn to_number(value: &ExprValue) -> f64 {
    match value {
        ExprValue::Null => 0.0,
        ExprValue::Bool(value) => f64::from(u8::from(*value)),
        ExprValue::Number(value) => *value,
        ExprValue::Text(text) => number_of_text(text),
        ExprValue::List(_) | ExprValue::Object(_) => f64::NAN,
    }
}

pub(crate) fn to_text(value: &ExprValue) -> String {
    match value {
        ExprValue::Null => String::new(),
        ExprValue::Bool(value) => value.to_string(),
        ExprValue::Number(value) => rounded(*value),
        ExprValue::Text(text) => text.clone(),
        ExprValue::List(_) => "Array".to_owned(),
        ExprValue::Object(_) => "Object".to_owned(),
    }
}

fn number_of_text(text: &str) -> f64 {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        let head = text.get(..2).unwrap_or_default();
        if head.eq_ignore_ascii_case(prefix) {
            return of_radix(&text[2..], radix);
        }
    }
    match text {
        "" => 0.0,
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // Rust also reads "inf" and "nan", which are no numbers here.
        _ if text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) =>
        {
            text.parse().unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

fn of_radix(digits: &str, radix: u32) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    let digit = |value: f64, c: char| {
        c.to_digit(radix)
            .map(|digit| value * f64::from(radix) + f64::from(digit))
    };
    digits.chars().try_fold(0.0, digit).unwrap_or(f64::NAN)
}

fn rounded(value: f64) -> String {
    if value.abs() < 1e21 {
        let rounded = if is_half(value) {
            f64::from_bits(value.to_bits() + 1)
        } else {
            value
        };
        format!("{rounded:.DIGITS$}")
            .parse()
            .map_or_else(|_| number_text(value), number_text)
    } else {
        number_text(value)
    }
}

/// Whether it lies right between two numbers with that many digits. JavaScript takes the one further from zero then, and
/// Rust the even one. Only multiples of 2^-16 do, and from 8 on numbers are too far apart for it to matter.
fn is_half(value: f64) -> bool {
    value.abs() < 8.0
        && (value * 65536.0).fract() == 0.0
        && format!("{value:.0$}", DIGITS + 1).ends_with('5')
}

/// As `Number.prototype.toString` writes it.
pub(crate) fn number_text(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent > LEAST_EXPONENT && exponent < MOST_EXPONENT {
        value.to_string()
    } else {
        let sign = if exponent < 0 { "" } else { "+" };
        format!("{digits}e{sign}{exponent}")
    }
}

/// Upper case, but the dotless i, which stays what it is.
pub(crate) fn upper(text: &str) -> String {
    let mut upper = String::with_capacity(text.len());
    for (at, part) in text.split('ı').enumerate() {
        if at > 0 {
            upper.push('ı');
        }
        upper.push_str(&part.to_uppercase());
    }
    upper
}

pub(crate) fn equal(left: &ExprValue, right: &ExprValue) -> bool {
    match (left, right) {
        (ExprValue::Null, ExprValue::Null) => true,
        (ExprValue::Text(left), ExprValue::Text(right)) => upper(left) == upper(right),
        (ExprValue::List(left), ExprValue::List(right)) => Arc::ptr_eq(left, right),
        (ExprValue::Object(left), ExprValue::Object(right)) => Arc::ptr_eq(left, right),
        _ => compare(left, right) == Some(Ordering::Equal),
    }
}

/// How two values are ordered, or nothing if neither is more or less than the other.
pub(crate) fn compare(left: &ExprValue, right: &ExprValue) -> Option<Ordering> {
    match (left, right) {
        (ExprValue::Null, ExprValue::Null) => None,
        (ExprValue::Bool(left), ExprValue::Bool(right)) => Some(left.cmp(right)),
        // Texts are ordered by the units of UTF-16, as in JavaScript.
        (ExprValue::Text(left), ExprValue::Text(right)) => {
            Some(upper(left).encode_utf16().cmp(upper(right).encode_utf16()))
        }
        _ if left.is_primitive() && right.is_primitive() => {
            to_number(left).partial_cmp(&to_number(right))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> ExprValue {
        ExprValue::text(text)
    }

    #[test]
    fn texts_become_numbers_as_in_javascript() {
        for (written, number) in [
            ("", 0.0),
            (" \t\n", 0.0),
            (" 42 ", 42.0),
            ("0xfF", 255.0),
            ("0o17", 15.0),
            ("-1.5e2", -150.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("Infinity", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(to_number(&text(written)), number, "{written:?}");
        }
        for written in [
            "x", "inf", "nan", "NaN", "1 2", "0x", "0xg", "-0x1", "1e", "é", "+", "infinity",
        ] {
            assert!(to_number(&text(written)).is_nan(), "{written:?}");
        }
    }

    #[test]
    fn numbers_become_texts_as_in_javascript() {
        for (number, written) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.3"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.000001, "0.000001"),
            (0.0000001, "1e-7"),
            (1e-20, "0"),
            (0.0000152587890625, "0.000015258789063"),
            (-7.0000152587890625, "-7.000015258789063"),
            (0.000030517578125, "0.000030517578125"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(to_text(&ExprValue::Number(number)), written);
        }
    }

    #[test]
    fn texts_are_equal_whatever_their_case() {
        assert!(equal(&text("Main"), &text("mAIN")));
        assert!(!equal(&text("ı"), &text("I")));
        assert!(equal(&ExprValue::Null, &ExprValue::Bool(false)));
        assert!(equal(&ExprValue::Null, &text("")));
        assert!(!equal(&ExprValue::Null, &text("a")));
        assert!(!equal(
            &ExprValue::Number(f64::NAN),
            &ExprValue::Number(f64::NAN)
        ));
    }

    #[test]
    fn lists_are_equal_only_to_themselves() {
        let list = ExprValue::list([ExprValue::Null]);
        assert!(equal(&list, &list.clone()));
        assert!(!equal(&list, &ExprValue::list([ExprValue::Null])));
        assert_eq!(compare(&list, &list), None);
    }
}
