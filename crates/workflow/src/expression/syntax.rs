//! Text into the tree of an expression, with the place of what is wrong with it.

use github_actions_expressions::{Error, Expr, SpannedExpr, call};

use super::fault::ExprFault;

/// As GitHub has it.
const MAX_EXPRESSION: usize = 21_000;

pub(crate) fn parse(text: &str) -> Result<SpannedExpr<'_>, ExprFault> {
    let whole = 0..text.len();
    if text.len() > MAX_EXPRESSION {
        let message = format!("the expression is longer than {MAX_EXPRESSION} bytes; shorten it");
        return Err(ExprFault::new(whole, message));
    }
    Expr::parse(text).map_err(|error| match error {
        Error::Syntax(error) => {
            let at = error.offset.min(text.len());
            ExprFault::new(at..at, format!("the expression is not valid: {}", error.message))
        }
        Error::Depth => ExprFault::new(whole, "the expression nests too deep; split it"),
        Error::Call(call::Error::UnknownFunction(name)) => {
            let at = text.find(&name).unwrap_or(0);
            let known = "contains, startsWith, endsWith, format, join, toJSON, fromJSON, hashFiles, case, success, failure, always and cancelled";
            ExprFault::new(at..at + name.len(), format!("there is no function {name}; there are {known}"))
        }
        Error::Call(call::Error::Arity(function, expected)) => {
            ExprFault::new(whole, format!("{function:?} takes {expected}"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_expression_is_refused_at_its_place() {
        for (text, at) in [
            ("", 0),
            ("a ==", 4),
            ("a = b", 2),
            ("'open", 0),
            ("a & b", 2),
            ("1 + 2", 2),
            ("github.", 7),
            ("(a", 2),
            ("x && nope(1)", 5),
            ("\"a\"", 0),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!(fault.span.start, at, "{text}: {fault}");
        }
        let deep = format!("{}a{}", "(".repeat(60), ")".repeat(60));
        assert!(parse(&deep).unwrap_err().message.contains("deep"));
        assert!(parse(&"a".repeat(MAX_EXPRESSION + 1)).is_err());
        assert!(
            parse("contains('a')")
                .unwrap_err()
                .message
                .contains("2 arguments")
        );
    }
}
