//! The inputs of `workflow_dispatch`: those that were given, with the defaults of the others.

use crate::event::{EventKind, WorkflowEvent};
use crate::expression::ExprValue;
use crate::fault::FaultList;
use crate::read::{FileModel, InputKind, InputModel, suggestion};

/// The context `inputs`; empty for events that have none.
pub(super) fn inputs(
    faults: &mut FaultList<'_>,
    file: &FileModel,
    event: &WorkflowEvent,
) -> ExprValue {
    if event.kind != EventKind::WorkflowDispatch {
        return ExprValue::object::<String>([]);
    }
    let names = || file.inputs.iter().map(|input| input.name.text.as_str());
    for given in event.inputs.keys() {
        if !names().any(|name| name == given) {
            let hint = suggestion(given, names());
            faults.invalid(0, format!("the workflow has no input `{given}`{hint}"));
        }
    }
    let mut values = Vec::new();
    for input in &file.inputs {
        let given = event
            .inputs
            .get(&input.name.text)
            .or(input.default.as_ref());
        match value_of(input, given) {
            Ok(value) => values.push((input.name.text.as_str(), value)),
            Err(message) => faults.invalid(input.name.at, message),
        }
    }
    ExprValue::object(values)
}

fn value_of(input: &InputModel, given: Option<&String>) -> Result<ExprValue, String> {
    let name = &input.name.text;
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        if input.is_required {
            return Err(format!("the input `{name}` is required; give it a value"));
        }
        return Ok(match input.kind {
            InputKind::Flag => ExprValue::Bool(false),
            InputKind::Number => ExprValue::Number(0.0),
            InputKind::Text => ExprValue::text(""),
            InputKind::Choice => {
                ExprValue::text(input.options.first().cloned().unwrap_or_default())
            }
        });
    };
    match input.kind {
        InputKind::Text => Ok(ExprValue::text(given.as_str())),
        InputKind::Flag => match given.as_str() {
            "true" => Ok(ExprValue::Bool(true)),
            "false" => Ok(ExprValue::Bool(false)),
            _ => Err(format!(
                "the input `{name}` is `{given}`; it is true or false"
            )),
        },
        InputKind::Number => match given.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(ExprValue::Number(number)),
            _ => Err(format!("the input `{name}` is `{given}`; it is a number")),
        },
        InputKind::Choice if input.options.contains(given) => Ok(ExprValue::text(given.as_str())),
        InputKind::Choice => {
            let options = input.options.join(", ");
            Err(format!(
                "the input `{name}` is `{given}`; it is one of {options}"
            ))
        }
    }
}
