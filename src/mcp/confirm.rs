//! Asking the client's user where a tool wants to be confirmed, if the client can ask: in the newer protocol the answer
//! comes with the call that is made again, in the older one it is waited for.

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputRequiredResult, InputResponses, JsonObject, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::call::LONGEST;
use branchyard_model::{ErrorKind, Problem};

/// The field of a tool that takes the answer, and the name of the question.
const CONFIRM: &str = "confirm";

/// What comes of a question.
pub(super) enum Asked {
    /// The client is to call again with the answer.
    Later(InputRequiredResult),
    Yes,
    No,
    /// The client cannot ask, or its user gave no answer.
    Unanswered,
}

/// Whether the user's yes would lift this refusal.
pub(super) fn is_wanted(problem: &Problem) -> bool {
    problem.code == "confirm_needed"
}

/// Asks whether the `tool` may go on in spite of the `problem`.
pub(super) async fn ask(
    context: &RequestContext<RoleServer>,
    tool: &str,
    problem: &Problem,
) -> Asked {
    let can_ask = context
        .client_capabilities()
        .and_then(|can| can.elicitation)
        .is_some_and(|can| can.form.is_some() || can.url.is_none());
    let form = ElicitationSchema::builder().required_bool(CONFIRM).build();
    let (true, Ok(requested_schema)) = (can_ask, form) else {
        return Asked::Unanswered;
    };
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("{tool}: {}. Go on?", problem.detail),
        requested_schema,
    };
    let version = context.protocol_version();
    if version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()) {
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let questions = InputRequests::from([(CONFIRM.to_owned(), question)]);
        return Asked::Later(InputRequiredResult::from_input_requests(questions));
    }
    let asked = context
        .peer
        .create_elicitation_with_timeout(question, Some(LONGEST));
    match asked.await {
        Ok(answer) => verdict(&answer),
        Err(error) => {
            tracing::debug!(%error, "a question got no answer");
            Asked::Unanswered
        }
    }
}

/// Puts an answer that came with a call into its arguments; a no ends it.
pub(super) fn heed(
    responses: Option<&InputResponses>,
    arguments: &mut JsonObject,
) -> Result<(), Problem> {
    let Some(response) = responses.and_then(|responses| responses.get(CONFIRM)) else {
        return Ok(());
    };
    let answer = serde_json::from_value(response.clone()).map_err(|error| {
        let detail = format!("the answer to the question cannot be read: {error}");
        Problem::bad("inputResponses", detail)
    })?;
    match verdict(&answer) {
        Asked::Yes => {
            set(arguments);
            Ok(())
        }
        _ => Err(declined()),
    }
}

pub(super) fn set(arguments: &mut JsonObject) {
    arguments.insert(CONFIRM.to_owned(), Value::Bool(true));
}

pub(super) fn declined() -> Problem {
    let detail = "the user was asked and said no; nothing was done";
    Problem::new(ErrorKind::Forbidden, "declined", detail)
}

fn verdict(answer: &ElicitResult) -> Asked {
    let says_yes = || answer.content.as_ref()?.get(CONFIRM)?.as_bool();
    match answer.action {
        ElicitationAction::Accept if says_yes() == Some(true) => Asked::Yes,
        _ => Asked::No,
    }
}
