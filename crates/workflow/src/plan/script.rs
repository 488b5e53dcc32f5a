//! Scripts with expressions in them: what comes from outside stands in one only if it is plain.

use super::context::are_known;
use super::model::PlannedStep;
use crate::expression::{
    EvalContext, ExprFault, ExprValue, Mention, Mentions, TemplatePart, evaluate, flowing,
    is_plain, parse, parts, to_text,
};
use crate::fault::FaultCode;

/// What callers of a pipeline can choose. Branches and tags are theirs too.
const OUTSIDE: [&str; 6] = [
    "github.event",
    "github.ref",
    "github.ref_name",
    "github.workflow_ref",
    "github.head_ref",
    "github.base_ref",
];

/// What has text from outside behind it at one place, beside that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outside<'o> {
    pub names: &'o [String],
    /// In an action `inputs` are its own: those of them that count are among the names.
    pub is_action: bool,
}

impl<'o> Outside<'o> {
    /// In the workflow file itself.
    pub(super) fn of_file(names: &'o [String]) -> Self {
        Self {
            names,
            is_action: false,
        }
    }
}

/// Why a script cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFault {
    pub code: FaultCode,
    pub fault: ExprFault,
}

/// The script of a step with the values of its expressions in it.
pub fn render_script(
    text: &str,
    context: &EvalContext<'_>,
    step: &PlannedStep,
) -> Result<String, ScriptFault> {
    let outside = Outside {
        names: &step.outside,
        is_action: step.within.is_some(),
    };
    rendered(text, context, outside)
}

fn rendered(
    text: &str,
    context: &EvalContext<'_>,
    outside: Outside<'_>,
) -> Result<String, ScriptFault> {
    let mut script = String::new();
    for part in parts(text).map_err(invalid)? {
        match part {
            TemplatePart::Text(text) => script.push_str(text),
            TemplatePart::Expression { text, offset } => {
                let value = checked(text, context, outside).map_err(|found| found.after(offset))?;
                script.push_str(&to_text(&value));
            }
        }
    }
    Ok(script)
}

/// Refuses what is known to be unsafe while planning, in a script that cannot be made yet.
pub(super) fn check_known(
    text: &str,
    context: &EvalContext<'_>,
    outside: Outside<'_>,
) -> Result<(), ScriptFault> {
    let has_context = |name: &str| context.get(name).is_some();
    for part in parts(text).map_err(invalid)? {
        let TemplatePart::Expression { text, offset } = part else {
            continue;
        };
        let tree = parse(text).map_err(|fault| invalid(fault.after(offset)))?;
        if are_known(&Mentions::of(&tree), &has_context) {
            checked(text, context, outside).map_err(|found| found.after(offset))?;
            continue;
        }
        for mention in flowing(&tree)
            .iter()
            .filter(|mention| is_outside(mention, outside))
        {
            let value = context
                .get(&mention.path[0])
                .map(|value| follow(value, &mention.path[1..]));
            if value.is_some_and(|value| !is_plain_value(&value)) {
                return Err(unsafe_text(mention).after(offset));
            }
        }
    }
    Ok(())
}

/// Whether text from outside can be in what the expressions of a text make.
pub(super) fn takes_outside(text: &str, outside: Outside<'_>) -> bool {
    let parts = parts(text).unwrap_or_default();
    parts.iter().any(|part| match part {
        TemplatePart::Text(_) => false,
        TemplatePart::Expression { text, .. } => parse(text).is_ok_and(|tree| {
            flowing(&tree)
                .iter()
                .any(|mention| is_outside(mention, outside))
        }),
    })
}

impl ScriptFault {
    fn after(self, offset: usize) -> Self {
        Self {
            fault: self.fault.after(offset),
            ..self
        }
    }
}

fn checked(
    text: &str,
    context: &EvalContext<'_>,
    outside: Outside<'_>,
) -> Result<ExprValue, ScriptFault> {
    let value = evaluate(text, context).map_err(invalid)?;
    if !is_plain_value(&value) {
        let tree = parse(text).map_err(invalid)?;
        if let Some(mention) = flowing(&tree)
            .iter()
            .find(|mention| is_outside(mention, outside))
        {
            return Err(unsafe_text(mention));
        }
    }
    Ok(value)
}

fn is_plain_value(value: &ExprValue) -> bool {
    match value {
        ExprValue::List(_) | ExprValue::Object(_) => false,
        _ => is_plain(&to_text(value)),
    }
}

fn follow(value: &ExprValue, path: &[String]) -> ExprValue {
    let property = |value: ExprValue, name: &String| value.property(name);
    path.iter().fold(value.clone(), property)
}

/// Whether a mention is, or is in, or has in it what comes from outside.
fn is_outside(mention: &Mention, outside: Outside<'_>) -> bool {
    let inputs = (!outside.is_action).then_some("inputs");
    let names = outside.names.iter().map(String::as_str);
    let mut names = OUTSIDE.into_iter().chain(inputs).chain(names);
    names.any(|name| {
        let mut parts = name.split('.');
        mention.path.iter().all(|step| {
            parts
                .next()
                .is_none_or(|part| part.eq_ignore_ascii_case(step))
        })
    })
}

fn unsafe_text(mention: &Mention) -> ScriptFault {
    let name = mention.path.join(".");
    let message = format!(
        "`{name}` comes from outside, and its value here could be taken for syntax of the shell; \
         give it to the step by `env:` and write \"$NAME\" in the script"
    );
    ScriptFault {
        code: FaultCode::UnsafeInterpolation,
        fault: ExprFault::new(mention.span.clone(), message),
    }
}

fn invalid(fault: ExprFault) -> ScriptFault {
    ScriptFault {
        code: FaultCode::WorkflowInvalid,
        fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(names: &[String]) -> Outside<'_> {
        Outside {
            names,
            is_action: false,
        }
    }

    fn context() -> EvalContext<'static> {
        let github = r#"{"head_ref":"a`b`","ref":"refs/heads/main","sha":"x y","event":{"title":"$(rm)","number":7}}"#;
        EvalContext::new()
            .with("github", serde_json::from_str(github).unwrap())
            .with(
                "steps",
                serde_json::from_str(r#"{"s":{"outputs":{"t":"a b"}}}"#).unwrap(),
            )
    }

    #[test]
    fn only_plain_text_from_outside_stands_in_a_script() {
        let names = ["steps.s.outputs".to_owned()];
        for text in [
            "echo ${{ github.ref }} ${{ github.event.number }}",
            "echo ${{ github.sha }}",
            "echo ${{ github.event.title == 'x' }}",
            "echo ${{ github.head_ref == 'a' && 'x y' || 'z z' }}",
            "echo ${{ contains(github.event.title, 'rm') && '; true' }}",
            "echo ${{ github.event.none }}",
        ] {
            assert!(
                rendered(text, &context(), outside(&names)).is_ok(),
                "{text}"
            );
        }
        for text in [
            "echo ${{ github.head_ref }}",
            "echo ${{ github.event.title }}",
            "echo ${{ format('{0}', github['Event'].title) }}",
            "echo ${{ toJSON(github) }}",
            "echo ${{ fromJSON(toJSON(github.event)).title }}",
            "echo ${{ github.event.none || github.head_ref }}",
            "echo ${{ steps.s.outputs.t }}",
            "echo ${{ github[format('{0}', 'head_ref')] }}",
        ] {
            let found = rendered(text, &context(), outside(&names)).unwrap_err();
            assert_eq!(found.code, FaultCode::UnsafeInterpolation, "{text}");
            assert!(found.fault.message.contains("`env:`") && found.fault.span.start > 5);
        }
        assert!(rendered("${{ steps.s.outputs.t }}", &context(), outside(&[])).is_ok());
    }

    #[test]
    fn what_is_known_is_checked_before_the_rest_is() {
        let check =
            |text: &str| check_known(text, &context(), outside(&[])).map_err(|found| found.code);
        let refused = Err(FaultCode::UnsafeInterpolation);
        assert_eq!(check("${{ env.X || github.ref }}"), Ok(()));
        assert_eq!(check("${{ env.X || github.head_ref }}"), refused);
        assert_eq!(
            check("${{ format('{0}{1}', env.X, github.event.title) }}"),
            refused
        );
        assert_eq!(check("${{ env.X }} ${{ github.event.title }}"), refused);
        assert_eq!(check("${{ env.X == github.event.title }}"), Ok(()));
    }

    #[test]
    fn text_that_flows_from_outside_is_found() {
        let names = ["env.title".to_owned()];
        for (text, takes) in [
            ("a", false),
            ("${{ github.sha }}", false),
            ("${{ inputs.a }}", true),
            ("${{ env.TITLE }}", true),
            ("${{ env.OTHER }}", false),
            ("${{ toJSON(env) }}", true),
            ("${{ github.event_name }}", false),
        ] {
            assert_eq!(takes_outside(text, outside(&names)), takes, "{text}");
        }
        // Those of an action are made of what it is given.
        let names = ["inputs.a".to_owned()];
        let own = Outside {
            names: &names,
            is_action: true,
        };
        assert!(
            takes_outside("${{ inputs.a }}", own) && takes_outside("${{ toJSON(inputs) }}", own)
        );
        assert!(!takes_outside("${{ inputs.b }}", own));
    }
}
