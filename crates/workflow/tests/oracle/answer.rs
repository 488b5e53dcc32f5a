//! What an expression comes to, here and there.

use branchyard_workflow::{EvalContext, ExprFault, ExprValue, evaluate};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Expression {
    pub text: String,
    /// Name and value of each context, as JSON.
    pub contexts: String,
}

/// A value, or the class of the refusal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Value(ExprValue),
    Refused(String),
}

/// A value as `oracle.mjs` writes it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written {
    Bool(bool),
    Number {
        number: String,
    },
    Text {
        text: String,
    },
    List {
        list: Vec<Option<Written>>,
    },
    Object {
        object: Vec<(String, Option<Written>)>,
    },
}

/// A line of `oracle.mjs`.
#[derive(Debug, Deserialize)]
pub(crate) struct Reply {
    value: Option<Written>,
    refused: Option<String>,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        match reply.refused {
            Some(class) => Self::Refused(class),
            None => Self::Value(value(reply.value)),
        }
    }
}

fn value(written: Option<Written>) -> ExprValue {
    match written {
        None => ExprValue::Null,
        Some(Written::Bool(value)) => ExprValue::Bool(value),
        Some(Written::Number { number }) => ExprValue::Number(number.parse().unwrap()),
        Some(Written::Text { text }) => ExprValue::Text(text),
        Some(Written::List { list }) => ExprValue::list(list.into_iter().map(value)),
        Some(Written::Object { object }) => {
            let entries = object.into_iter();
            ExprValue::object(entries.map(|(name, written)| (name, value(written))))
        }
    }
}

/// What this crate makes of it.
pub(crate) fn ours(expression: &Expression) -> Answer {
    let mut context = EvalContext::new();
    let ExprValue::Object(contexts) = serde_json::from_str(&expression.contexts).unwrap() else {
        panic!("contexts are an object");
    };
    for (name, value) in contexts.iter() {
        context = context.with(name, value.clone());
    }
    match evaluate(&expression.text, &context) {
        Ok(value) => Answer::Value(value),
        Err(fault) => Answer::Refused(class_of(&fault).to_owned()),
    }
}

/// The refusals of both sides are worded differently, but for the same causes.
fn class_of(fault: &ExprFault) -> &'static str {
    let classes = [
        ("the expression is not valid", "syntax"),
        ("the expression is longer", "length"),
        ("the expression nests too deep", "depth"),
        ("there is no function", "function"),
        ("there is no context", "context"),
        ("a condition of case", "case"),
        ("fromJSON was given", "json"),
        ("the text of format", "format"),
        ("format has no argument", "format"),
        ("the text is longer", "size"),
    ];
    let found = classes
        .iter()
        .find(|(message, _)| fault.message.starts_with(message));
    match found {
        Some((_, class)) => class,
        None if fault.message.contains(" takes ") => "arity",
        None => panic!("a refusal of no class: {fault}"),
    }
}
