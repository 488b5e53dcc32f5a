//! Variables all of which one expression makes, such as `env: ${{ matrix.env }}`.

use super::coerce::to_text;
use super::context::EvalContext;
use super::fault::ExprFault;
use super::template::render_value;
use super::value::ExprValue;

/// What stands in place of a name before the expression of all variables. No variable is called so.
pub const ALL_VARIABLES: &str = "";

/// Whether a variable can be called so.
pub(crate) fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0', '$', ' '])
}

/// The variables that an expression makes, in order.
pub fn render_variables(
    text: &str,
    context: &EvalContext<'_>,
) -> Result<Vec<(String, String)>, ExprFault> {
    let fault = |message: String| ExprFault::new(0..text.len(), message);
    let value = render_value(text, context)?;
    let ExprValue::Object(object) = &value else {
        let given = kind(&value);
        return Err(fault(format!(
            "the expression makes {given}; it must make a mapping of names to texts"
        )));
    };
    let variables = object.iter().map(|(name, value)| {
        if !is_variable_name(name) {
            return Err(fault(format!(
                "`{name}` is no name of a variable; use letters, digits and _"
            )));
        }
        if !value.is_primitive() {
            let given = kind(value);
            return Err(fault(format!(
                "the value of `{name}` is {given}; it must be a text"
            )));
        }
        Ok((name.to_owned(), to_text(value)))
    });
    variables.collect()
}

fn kind(value: &ExprValue) -> &'static str {
    match value {
        ExprValue::Null => "nothing",
        ExprValue::Bool(_) => "true or false",
        ExprValue::Number(_) => "a number",
        ExprValue::Text(_) => "a text",
        ExprValue::List(_) => "a list",
        ExprValue::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_of_texts_makes_variables() {
        let matrix =
            r#"{"env":{"B":"x y","A":1,"C":null},"list":[1],"deep":{"A":{}},"wrong":{"A B":"1"}}"#;
        let context = EvalContext::new().with("matrix", serde_json::from_str(matrix).unwrap());
        let made = |text: &str| {
            let found = render_variables(text, &context);
            found.map_err(|fault| fault.message)
        };
        let entry = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            made("${{ matrix.env }}"),
            Ok(vec![entry("B", "x y"), entry("A", "1"), entry("C", "")])
        );
        assert_eq!(made("${{ fromJSON('{}') }}"), Ok(Vec::new()));
        for (text, found) in [
            ("${{ matrix.list }}", "makes a list"),
            ("${{ matrix.none }}", "makes nothing"),
            ("${{ matrix.env }}${{ matrix.env }}", "makes a text"),
            ("${{ matrix.deep }}", "the value of `A` is a mapping"),
            ("${{ matrix.wrong }}", "`A B` is no name"),
        ] {
            assert!(made(text).unwrap_err().contains(found), "{text}");
        }
    }
}
