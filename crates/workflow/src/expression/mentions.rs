//! What an expression asks for, without its value.

use std::ops::Range;

use github_actions_expressions::call::Function;
use github_actions_expressions::context::Context;
use github_actions_expressions::literal::Literal;
use github_actions_expressions::{Expr, SpannedExpr};

/// A context that an expression names, with the properties after it as far as they are written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// In lower case; the context first. What is computed or `*` ends it.
    pub path: Vec<String>,
    /// Whether more follows than `path` says.
    pub is_open: bool,
    pub span: Range<usize>,
}

/// All that an expression asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mentions {
    pub contexts: Vec<Mention>,
    pub status: Option<Range<usize>>,
    pub hash_files: Option<Range<usize>>,
}

impl Mentions {
    pub(crate) fn of(tree: &SpannedExpr<'_>) -> Self {
        let mut mentions = Self::default();
        visit(tree, &mut mentions);
        mentions
    }
}

/// The contexts of which text can become a part of the value.
pub(crate) fn flowing(tree: &SpannedExpr<'_>) -> Vec<Mention> {
    let mut found = Vec::new();
    for (path, _) in tree.dataflow_contexts() {
        match (mention(path), path.parts.first()) {
            (Some(mention), _) => found.push(mention),
            // Behind a call or parentheses: all that is named in them.
            (None, Some(head)) => found.extend(Mentions::of(head).contexts),
            (None, None) => {}
        }
    }
    found
}

fn visit(tree: &SpannedExpr<'_>, mentions: &mut Mentions) {
    match &tree.inner {
        Expr::Context(path) => {
            mentions.contexts.extend(mention(path));
            for part in &path.parts {
                visit(part, mentions);
            }
        }
        Expr::Call(call) => {
            let span = tree.origin.span.start..tree.origin.span.end;
            match call.func {
                Function::Success | Function::Failure | Function::Always | Function::Cancelled => {
                    mentions.status.get_or_insert(span);
                }
                Function::HashFiles => {
                    mentions.hash_files.get_or_insert(span);
                }
                _ => {}
            }
            call.args
                .iter()
                .for_each(|argument| visit(argument, mentions));
        }
        Expr::BinExpr(binary) => {
            visit(&binary.lhs, mentions);
            visit(&binary.rhs, mentions);
        }
        Expr::UnExpr { expr, .. } => visit(expr, mentions),
        Expr::Index(inner) => visit(inner, mentions),
        Expr::Literal(_) | Expr::Identifier(_) | Expr::Star => {}
    }
}

fn mention(context: &Context<'_>) -> Option<Mention> {
    let mut path = Vec::new();
    let mut is_open = false;
    let mut span = 0..0;
    for part in &context.parts {
        let name = match &part.inner {
            Expr::Identifier(name) => Some(name.as_str().to_lowercase()),
            Expr::Index(inner) => match &inner.inner {
                Expr::Literal(Literal::String(name)) => Some(name.to_lowercase()),
                _ => None,
            },
            _ => None,
        };
        match name {
            Some(name) => {
                if path.is_empty() {
                    span.start = part.origin.span.start;
                }
                span.end = part.origin.span.end;
                path.push(name);
            }
            // A call or an expression in parentheses in front: what is in it is found by itself.
            None if path.is_empty() => return None,
            None => {
                is_open = true;
                break;
            }
        }
    }
    (!path.is_empty()).then_some(Mention {
        path,
        is_open,
        span,
    })
}

#[cfg(test)]
mod tests {
    use super::super::syntax::parse;
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let mentions = Mentions::of(&parse(text).unwrap());
        mentions
            .contexts
            .iter()
            .map(|mention| mention.path.join("."))
            .collect()
    }

    #[test]
    fn every_context_is_found() {
        assert_eq!(
            paths("GitHub.Event['Title'] == env.x"),
            ["github.event.title", "env.x"]
        );
        assert_eq!(paths("matrix[format('{0}', env.k)].a"), ["matrix", "env.k"]);
        assert_eq!(
            paths("fromJSON(needs.a.outputs.b).c"),
            ["needs.a.outputs.b"]
        );
        assert_eq!(paths("(inputs.a || vars.b).c"), ["inputs.a", "vars.b"]);
        assert_eq!(paths("!contains(a.*.b, 'x')"), ["a"]);
        let mentions = Mentions::of(&parse("always() && hashFiles('a') != ''").unwrap());
        assert!(mentions.status == Some(0..8) && mentions.hash_files == Some(12..26));
    }

    #[test]
    fn only_what_can_be_in_the_value_flows() {
        let found = |text: &str| flowing(&parse(text).unwrap()).len();
        assert_eq!(found("github.head_ref == 'a'"), 0);
        assert_eq!(found("github.head_ref || 'a'"), 1);
        assert_eq!(found("format('{0}', github.head_ref)"), 1);
        assert_eq!(found("fromJSON(github.head_ref).x"), 1);
        assert_eq!(found("(github.head_ref || inputs.x).y"), 2);
    }
}
