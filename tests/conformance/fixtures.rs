//! The tools, resources and prompts that the conformance suite calls, beside the yard's own. The suite
//! looks at every message on the wire, so it sees the yard's too. Nothing of this is in the product.

#![expect(
    deprecated,
    reason = "clients of the older protocol still log and subscribe so"
)]

mod prompts;
mod questions;
mod resources;
mod tools;

use branchyard::mcp::Yard;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, ServerNotification,
    SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

/// The yard and the fixtures, for one session.
pub struct Fixtures {
    yard: Yard,
    /// What `test_trigger_…` changes, for those who listen.
    changes: broadcast::Sender<ServerNotification>,
}

impl Fixtures {
    pub fn beside(yard: Yard) -> Self {
        let (changes, _) = broadcast::channel(8);
        Self { yard, changes }
    }

    /// The same for another session.
    pub fn for_session(&self) -> Self {
        Self {
            yard: self.yard.for_session(),
            changes: self.changes.clone(),
        }
    }
}

/// A message of the protocol, from how it looks on the wire.
#[expect(
    clippy::needless_pass_by_value,
    reason = "callers write it on the spot"
)]
fn message<T: DeserializeOwned>(wire: Value) -> T {
    T::deserialize(&wire).unwrap_or_else(|error| panic!("{error}: {wire}"))
}

/// A result that is one, from how it looks on the wire.
fn complete<T: DeserializeOwned>(mut wire: Value) -> T {
    wire["resultType"] = "complete".into();
    message(wire)
}

fn is_newer(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.yard.get_info();
        info.capabilities = message(json!({
            "completions": {},
            "logging": {},
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "tools": { "listChanged": true },
        }));
        info
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.yard.list_tools(page, context).await?;
        list.tools.extend(tools::listed());
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(rounds) = questions::of_tool(&request.name) {
            let asked = rounds.ask(
                request.input_responses,
                request.request_state.as_deref(),
                &context,
            )?;
            return Ok(match asked {
                Ok(said) => tools::text(&said).into(),
                Err(questions) => questions.into(),
            });
        }
        if tools::is_fixture(&request.name) {
            return tools::call(request, context, &self.changes).await;
        }
        self.yard.call_tool(request, context).await
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut list = self.yard.list_prompts(page, context).await?;
        list.prompts.extend(prompts::listed());
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if let Some(rounds) = questions::of_prompt(&request.name) {
            let asked = rounds.ask(
                request.input_responses,
                request.request_state.as_deref(),
                &context,
            )?;
            return Ok(match asked {
                Ok(said) => prompts::text(&said).into(),
                Err(questions) => questions.into(),
            });
        }
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        match prompts::get(&request.name, &arguments) {
            Some(prompt) => Ok(prompt.into()),
            None => self.yard.get_prompt(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        match request.r#ref.as_prompt_name() {
            Some("test_prompt_with_arguments") => Ok(complete(
                json!({ "completion": { "values": ["test", "testing"] } }),
            )),
            _ => self.yard.complete(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut list = self.yard.list_resources(page, context).await?;
        list.resources.extend(resources::listed());
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = self.yard.list_resource_templates(page, context).await?;
        list.resource_templates.push(resources::template());
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match resources::read(&request.uri) {
            Some(contents) => Ok(contents.into()),
            // One that is not there at all is the yard's to refuse.
            None => self.yard.read_resource(request, context).await,
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri == resources::WATCHED {
            return Ok(());
        }
        self.yard.subscribe(request, context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri == resources::WATCHED {
            return Ok(());
        }
        self.yard.unsubscribe(request, context).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        let mut changes = self.changes.subscribe();
        let telling = async {
            while let Ok(change) = changes.recv().await {
                // It refuses what was not asked for.
                drop(sink.send(change).await);
            }
        };
        tokio::select! {
            ended = self.yard.listen(context) => ended,
            () = telling => Ok(()),
        }
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_newer(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        Ok(())
    }
}
