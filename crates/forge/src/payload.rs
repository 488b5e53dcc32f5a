//! The JSON that a webhook carries: its body, or the field `payload` of a form.

use std::borrow::Cow;

use url::form_urlencoded;

/// The JSON, or `None` where the form does not begin with that field. No header is signed: were the field looked for, then
/// a body that a forge signed as JSON could be sent again as a form, with a field that stands in the title of an issue.
pub(crate) fn json<'b>(content_type: Option<&str>, body: &'b [u8]) -> Option<Cow<'b, [u8]>> {
    if !content_type.is_some_and(is_form) {
        return Some(Cow::Borrowed(body));
    }
    let first = form_urlencoded::parse(body).next();
    let (_, payload) = first.filter(|(name, _)| name == "payload")?;
    Some(match payload {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    })
}

fn is_form(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_form_carries_its_json_in_a_field() {
        let form = Some("Application/X-WWW-Form-Urlencoded; charset=utf-8");
        for (content_type, body, json) in [
            (None, "{}", Some("{}")),
            (
                Some("application/json"),
                "payload=%7B%7D",
                Some("payload=%7B%7D"),
            ),
            (form, "payload=%7B%7D", Some("{}")),
            (form, "payload=%7B+%7D&payload=2&a=b", Some("{ }")),
            (form, r#"{"title": "&payload=%7B%7D&"}"#, None),
            (form, "payload=7", Some("7")),
            (form, "{}", None),
            (form, "", None),
        ] {
            let found = super::json(content_type, body.as_bytes());
            assert_eq!(found.as_deref(), json.map(str::as_bytes), "{body}");
        }
    }
}
