//! The value of an expression.

use std::cmp::Ordering;

use github_actions_expressions::call::{Call, Function};
use github_actions_expressions::context::Context;
use github_actions_expressions::literal::Literal;
use github_actions_expressions::op::BinOp;
use github_actions_expressions::{Expr, SpannedExpr};

use super::budget::{ExprBudget, cost};
use super::coerce::{compare, equal, to_number, to_text};
use super::context::{EvalContext, JobStatus};
use super::fault::ExprFault;
use super::functions;
use super::syntax::parse;
use super::value::ExprValue;

/// The value of an expression without its `${{ }}`.
pub fn evaluate(text: &str, context: &EvalContext<'_>) -> Result<ExprValue, ExprFault> {
    evaluate_tree(&parse(text)?, context)
}

pub(crate) fn evaluate_tree(
    tree: &SpannedExpr<'_>,
    context: &EvalContext<'_>,
) -> Result<ExprValue, ExprFault> {
    let own = ExprBudget::new();
    let budget = context.budget().unwrap_or(&own);
    let found = Evaluator { context, budget }.value(tree)?;
    Ok(found.value)
}

struct Evaluator<'c> {
    context: &'c EvalContext<'c>,
    budget: &'c ExprBudget,
}

/// A value, and whether it is what `.*` made: such a list is looked into by its items.
struct Evaluated {
    value: ExprValue,
    is_filtered: bool,
}

impl From<ExprValue> for Evaluated {
    fn from(value: ExprValue) -> Self {
        Self {
            value,
            is_filtered: false,
        }
    }
}

/// What stands after a value: `.name`, `[…]` or `.*`.
enum Access {
    Star,
    At {
        name: Option<String>,
        index: Option<usize>,
    },
}

impl Access {
    fn by(value: &ExprValue) -> Self {
        let number = to_number(value);
        let is_index = number.is_finite() && number >= 0.0;
        // Beyond what a list can have, no item is found either.
        let index = is_index.then(|| {
            number
                .floor()
                .abs()
                .to_string()
                .parse()
                .unwrap_or(usize::MAX)
        });
        let name = value.is_primitive().then(|| to_text(value));
        Self::At { name, index }
    }
}

impl Evaluator<'_> {
    fn value(&self, tree: &SpannedExpr<'_>) -> Result<Evaluated, ExprFault> {
        let found = self.unpaid_value(tree)?;
        let paid = self.budget.spend(cost(&found.value));
        paid.map(|()| found).map_err(|message| fault(tree, message))
    }

    fn unpaid_value(&self, tree: &SpannedExpr<'_>) -> Result<Evaluated, ExprFault> {
        let value = match &tree.inner {
            Expr::Literal(literal) => literal_value(literal),
            Expr::Context(path) => return self.path(path),
            Expr::Call(call) => return self.call(call, tree),
            Expr::BinExpr(binary) => match binary.op {
                BinOp::And | BinOp::Or => {
                    let left = self.value(&binary.lhs)?;
                    let is_decided = left.value.is_truthy() == matches!(binary.op, BinOp::Or);
                    return if is_decided {
                        Ok(left)
                    } else {
                        self.value(&binary.rhs)
                    };
                }
                _ => {
                    let left = self.value(&binary.lhs)?.value;
                    let right = self.value(&binary.rhs)?.value;
                    ExprValue::Bool(holds(&binary.op, &left, &right))
                }
            },
            Expr::UnExpr { expr, .. } => ExprValue::Bool(!self.value(expr)?.value.is_truthy()),
            Expr::Identifier(name) => self.named(name.as_str(), tree)?,
            Expr::Index(inner) => return self.value(inner),
            Expr::Star => return Err(fault(tree, "* stands only after a point or in brackets")),
        };
        Ok(value.into())
    }

    fn named(&self, name: &str, at: &SpannedExpr<'_>) -> Result<ExprValue, ExprFault> {
        self.context.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = self.context.names().collect();
            let known = known.join(", ");
            fault(
                at,
                format!("there is no context {name} here; there are: {known}"),
            )
        })
    }

    fn path(&self, path: &Context<'_>) -> Result<Evaluated, ExprFault> {
        let mut parts = path.parts.iter();
        let mut found = match parts.next() {
            Some(head) => self.value(head)?,
            None => ExprValue::Null.into(),
        };
        for part in parts {
            let access = match &part.inner {
                Expr::Star => Access::Star,
                Expr::Identifier(name) => Access::by(&ExprValue::text(name.as_str())),
                Expr::Index(inner) if matches!(inner.inner, Expr::Star) => Access::Star,
                _ => Access::by(&self.value(part)?.value),
            };
            found = follow(&found, &access);
        }
        Ok(found)
    }

    fn call(&self, call: &Call<'_>, tree: &SpannedExpr<'_>) -> Result<Evaluated, ExprFault> {
        let evaluated: Vec<Evaluated> = call
            .args
            .iter()
            .map(|argument| self.value(argument))
            .collect::<Result<_, _>>()?;
        if matches!(call.func, Function::Case) {
            return chosen(evaluated).map_err(|message| fault(tree, message));
        }
        let given: Vec<ExprValue> = evaluated
            .into_iter()
            .map(|argument| argument.value)
            .collect();
        let made = match (call.func, given.as_slice()) {
            (Function::Contains, [search, item]) => {
                Ok(ExprValue::Bool(functions::contains(search, item)))
            }
            (Function::StartsWith, [text, prefix]) => {
                Ok(ExprValue::Bool(functions::starts_with(text, prefix)))
            }
            (Function::EndsWith, [text, suffix]) => {
                Ok(ExprValue::Bool(functions::ends_with(text, suffix)))
            }
            (Function::Format, given) => functions::format(given).map(ExprValue::Text),
            (Function::Join, [items, separator @ ..]) => {
                functions::join(items, separator.first()).map(ExprValue::Text)
            }
            (Function::ToJSON, [value]) => functions::to_json(value).map(ExprValue::Text),
            (Function::FromJSON, [text]) => functions::from_json(text),
            (Function::HashFiles, given) => {
                let patterns: Vec<_> = given.iter().map(to_text).collect();
                self.context.hash_files(&patterns).map(ExprValue::Text)
            }
            (Function::Always, _) => Ok(ExprValue::Bool(true)),
            (Function::Success, _) => self.has_status(JobStatus::Success),
            (Function::Failure, _) => self.has_status(JobStatus::Failure),
            (Function::Cancelled, _) => self.has_status(JobStatus::Cancelled),
            (function, _) => Err(format!(
                "{function:?} was given the wrong number of arguments"
            )),
        };
        made.map(Evaluated::from)
            .map_err(|message| fault(tree, message))
    }

    fn has_status(&self, wanted: JobStatus) -> Result<ExprValue, String> {
        match self.context.status() {
            Some(status) => Ok(ExprValue::Bool(status == wanted)),
            None => Err("success, failure and cancelled stand only in `if`".to_owned()),
        }
    }
}

/// Of `case`: the value after the first condition that holds, else the last.
fn chosen(given: Vec<Evaluated>) -> Result<Evaluated, String> {
    let mut given = given.into_iter();
    while let Some(first) = given.next() {
        let Some(value) = given.next() else {
            return Ok(first);
        };
        match first.value {
            ExprValue::Bool(true) => return Ok(value),
            ExprValue::Bool(false) => {}
            _ => return Err("a condition of case is neither true nor false".to_owned()),
        }
    }
    Ok(ExprValue::Null.into())
}

fn fault(at: &SpannedExpr<'_>, message: impl Into<String>) -> ExprFault {
    let span = &at.origin.span;
    ExprFault::new(span.start..span.end, message)
}

fn literal_value(literal: &Literal<'_>) -> ExprValue {
    match literal {
        Literal::Null => ExprValue::Null,
        Literal::Boolean(value) => ExprValue::Bool(*value),
        Literal::Number(value) => ExprValue::Number(*value),
        Literal::String(text) => ExprValue::text(text.as_ref()),
    }
}

fn holds(operator: &BinOp, left: &ExprValue, right: &ExprValue) -> bool {
    let order = || compare(left, right);
    match operator {
        BinOp::Eq => equal(left, right),
        BinOp::Neq => !equal(left, right),
        BinOp::Gt => order() == Some(Ordering::Greater),
        BinOp::Lt => order() == Some(Ordering::Less),
        BinOp::Ge => equal(left, right) || order() == Some(Ordering::Greater),
        BinOp::Le => equal(left, right) || order() == Some(Ordering::Less),
        BinOp::And | BinOp::Or => false,
    }
}

fn follow(from: &Evaluated, access: &Access) -> Evaluated {
    if from.is_filtered {
        return filtered(
            items(&from.value)
                .flat_map(|item| found_in(item, access))
                .collect(),
        );
    }
    let mut found = found_in(&from.value, access);
    match access {
        Access::Star => filtered(found),
        Access::At { .. } => found.pop().unwrap_or_default().into(),
    }
}

fn filtered(items: Vec<ExprValue>) -> Evaluated {
    Evaluated {
        value: ExprValue::list(items),
        is_filtered: true,
    }
}

fn items(value: &ExprValue) -> impl Iterator<Item = &ExprValue> {
    let items = match value {
        ExprValue::List(items) => items.as_slice(),
        _ => &[],
    };
    items.iter()
}

fn found_in(value: &ExprValue, access: &Access) -> Vec<ExprValue> {
    match (value, access) {
        (ExprValue::List(items), Access::Star) => items.to_vec(),
        (ExprValue::Object(object), Access::Star) => {
            object.iter().map(|(_, value)| value.clone()).collect()
        }
        (
            ExprValue::List(items),
            Access::At {
                index: Some(index), ..
            },
        ) => items.get(*index).cloned().into_iter().collect(),
        (
            ExprValue::Object(object),
            Access::At {
                name: Some(name), ..
            },
        ) => object.get(name).cloned().into_iter().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
