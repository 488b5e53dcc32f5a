//! Text into the tree of an expression, with the place of what is wrong with it.

use github_actions_expressions::call::Function;
use github_actions_expressions::{Error, Expr, SpannedExpr, call};

use super::fault::ExprFault;

/// As GitHub has it.
const MAX_EXPRESSION: usize = 21_000;
/// As GitHub has it: 50 levels, of which the expression itself is one.
const MAX_ACCESSES: usize = 49;
const MAX_FORMAT: usize = 255;
const TOO_DEEP: &str = "the expression nests too deep; split it";

pub(crate) fn parse(text: &str) -> Result<SpannedExpr<'_>, ExprFault> {
    let whole = 0..text.len();
    if text.len() > MAX_EXPRESSION {
        let message = format!("the expression is longer than {MAX_EXPRESSION} bytes; shorten it");
        return Err(ExprFault::new(whole, message));
    }
    let tree = Expr::parse(text).map_err(|error| match error {
        Error::Syntax(error) => {
            let at = error.offset.min(text.len());
            ExprFault::new(at..at, format!("the expression is not valid: {}", error.message))
        }
        Error::Depth => ExprFault::new(whole.clone(), TOO_DEEP),
        Error::Call(call::Error::UnknownFunction(name)) => {
            let at = text.find(&name).unwrap_or(0);
            let known = "contains, startsWith, endsWith, format, join, toJSON, fromJSON, hashFiles, case, success, failure, always and cancelled";
            ExprFault::new(at..at + name.len(), format!("there is no function {name}; there are {known}"))
        }
        Error::Call(call::Error::Arity(function, expected)) => {
            ExprFault::new(whole.clone(), format!("{function:?} takes {expected}"))
        }
    })?;
    match overlooked(&tree) {
        Some(message) => Err(ExprFault::new(whole, message)),
        None => Ok(tree),
    }
}

/// What the parser does not refuse: too many of `.name`, `[…]` and `.*` after one value, and a `format` of nothing.
fn overlooked(tree: &SpannedExpr<'_>) -> Option<&'static str> {
    match &tree.inner {
        Expr::Context(path) if path.parts.len() > MAX_ACCESSES + 1 => Some(TOO_DEEP),
        Expr::Context(path) => path.parts.iter().find_map(overlooked),
        Expr::Call(call) if matches!(call.func, Function::Format) => {
            if (1..=MAX_FORMAT).contains(&call.args.len()) {
                call.args.iter().find_map(overlooked)
            } else {
                Some("format takes 1 to 255 arguments")
            }
        }
        Expr::Call(call) => call.args.iter().find_map(overlooked),
        Expr::BinExpr(binary) => overlooked(&binary.lhs).or_else(|| overlooked(&binary.rhs)),
        Expr::UnExpr { expr, .. } => overlooked(expr),
        Expr::Index(inner) => overlooked(inner),
        Expr::Literal(_) | Expr::Identifier(_) | Expr::Star => None,
    }
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
        assert!(parse(&format!("a{}", ".b".repeat(MAX_ACCESSES))).is_ok());
        for access in [".b", "[1]", ".*"] {
            let long = format!("x && !fromJSON(a{})", access.repeat(MAX_ACCESSES + 1));
            assert!(parse(&long).unwrap_err().message.contains("deep"));
        }
        for arguments in ["", &"1,".repeat(255)] {
            let format = format!(
                "true || format({arguments}{})",
                if arguments.is_empty() { "" } else { "1" }
            );
            assert!(parse(&format).unwrap_err().message.contains("arguments"));
        }
        assert!(
            parse("contains('a')")
                .unwrap_err()
                .message
                .contains("2 arguments")
        );
    }
}
