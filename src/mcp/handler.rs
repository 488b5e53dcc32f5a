//! What rmcp asks of a server, and where in the yard the answer comes from.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams,
    InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::call::Call;
use super::confirm::{self, Asked};
use super::panics::caught;
use super::reply::Reply;
use super::resources::{self, Subscriptions};
use super::scope::ToolScope;
use super::tool::Tool;
use super::{audit, completion, prompts, reply, tasks, tools};
use crate::app::App;
use branchyard_auth::unauthorized;
use branchyard_config::Toolset;
use branchyard_model::Problem;

const INSTRUCTIONS: &str = "\
Branchyard builds branches of git repositories, each in a workspace of its own. Start with `list`. \
`make` builds a branch and answers within its `wait`; a build that takes longer goes on by itself: call \
`run_wait` with its run_id until it has ended, then `diagnostics` for what it complained about and \
`run_log` for its output. A failed build is an answer, not an error. Every answer names the commit that \
it is about.";
/// What else to know, by what the client was given.
const FOR_WRITERS: &str = "\
\n\nTo change code, begin with `git_clone`: it gives your task a branch and a workspace of its own, and the path of its \
files. Commit and publish with `git_push`, which takes in what others pushed; the prompt `wrap_up` lists what is left to do.";
const FOR_PIPELINES: &str = "\
\n\n`pipeline_run` runs a workflow file of a commit in worktrees of its own; `pipeline_wait` waits for its end.";
const FOR_READERS: &str = "\n\nNothing can be changed with these tools.";
const FOR_OPERATORS: &str = "\
\n\n`findings` tells what is amiss on disk, `reap` makes room, `salvage` has work that was saved before something \
would have discarded it.";

/// What is answered here.
const METHODS: [&str; 16] = [
    "completion/complete",
    "initialize",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// What is repeated of a name that nobody has.
const LONGEST_NAME: usize = 200;

/// The yard as an MCP server, for one session.
pub struct Yard {
    app: App,
    tools: Arc<Vec<Tool>>,
    close: CancellationToken,
    /// All that a session has of its own: which changes it wants to hear of, and no default or handle.
    subscriptions: Subscriptions,
}

impl Yard {
    /// `close` is when the daemon ends.
    pub fn new(app: App, close: CancellationToken) -> Self {
        Self {
            app,
            tools: Arc::new(tools::all()),
            subscriptions: Subscriptions::new(close.clone()),
            close,
        }
    }

    /// The same yard for another session.
    #[must_use]
    pub fn for_session(&self) -> Self {
        Self {
            app: self.app.clone(),
            tools: self.tools.clone(),
            subscriptions: Subscriptions::new(self.close.clone()),
            close: self.close.clone(),
        }
    }

    fn call(&self, context: &RequestContext<RoleServer>) -> Result<Call, ErrorData> {
        self.subscriptions.heard();
        Call::new(&self.app, context).map_err(reply::error)
    }
}

/// How to use what the client was given.
fn instructions(scope: &ToolScope) -> String {
    let mut text = INSTRUCTIONS.to_owned();
    if scope.is_read_only() {
        text.push_str(FOR_READERS);
    } else if scope.has(Toolset::GitWrite) {
        text.push_str(FOR_WRITERS);
    }
    if scope.has(Toolset::Pipelines) && !scope.is_read_only() {
        text.push_str(FOR_PIPELINES);
    }
    if scope.has(Toolset::Ops) {
        text.push_str(FOR_OPERATORS);
    }
    text
}

/// What a tool answers. It may wait, for a build or a lock: no longer than its caller's credential is good.
async fn answer(tool: &Tool, call: &Call, arguments: JsonObject) -> Result<Reply, Problem> {
    let principal = call.app().principal().clone();
    tokio::select! {
        biased;
        () = principal.gone() => Err(unauthorized(
            "the credential was revoked or has expired in the meantime",
        )),
        answer = caught(tool.call(call.clone(), arguments)) => answer,
    }
}

impl ServerHandler for Yard {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tasks()
            .build();
        let server = Implementation::new("branchyard", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(server.with_title("Branchyard"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        answer.instructions = Some(instructions(self.call(&context)?.scope()));
        Ok(answer)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        info.instructions = Some(instructions(self.call(&context)?.scope()));
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let call = self.call(&context)?;
        let scope = call.scope();
        let offered = self.tools.iter().filter(|tool| tool.is_offered(scope));
        let listed = offered.map(|tool| tool.listed(scope)).collect();
        Ok(ListToolsResult::with_all_items(listed))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.call(&context)?;
        let tool = self.tools.iter().find(|tool| tool.name() == request.name);
        let Some(tool) = tool.filter(|tool| tool.is_offered(call.scope())) else {
            if let Some(tool) = tool {
                audit::hidden(&call, tool.name()).await;
            }
            let unknown = format!("Unknown tool: {}", request.name);
            let unknown = reply::cut(&unknown, LONGEST_NAME);
            return Err(ErrorData::invalid_params(unknown, None));
        };
        let mut arguments = request.arguments.unwrap_or_default();
        let heeded = confirm::heed(request.input_responses.as_ref(), &mut arguments);
        let mut answer = match heeded {
            Ok(()) => answer(tool, &call, arguments.clone()).await,
            Err(problem) => Err(problem),
        };
        if let Err(problem) = &answer
            && confirm::is_wanted(problem)
        {
            let principal = call.app().principal().clone();
            let asked = tokio::select! {
                biased;
                () = principal.gone() => Asked::Unanswered,
                () = context.ct.cancelled() => Asked::Unanswered,
                asked = confirm::ask(&context, tool.name(), problem) => asked,
            };
            match asked {
                Asked::Later(question) => return Ok(question.into()),
                Asked::No => answer = Err(confirm::declined()),
                Asked::Unanswered => {}
                Asked::Yes => {
                    confirm::set(&mut arguments);
                    answer = self::answer(tool, &call, arguments).await;
                }
            }
        }
        let begun = |run| tasks::begun(&call, run);
        let task = match &answer {
            Ok(reply) if call.takes_tasks() => reply.run().map(begun).transpose(),
            _ => Ok(None),
        };
        Ok(match (task, answer) {
            (Ok(Some(task)), _) => task.into(),
            (Ok(None), Ok(reply)) => reply.into_result().into(),
            (Ok(None), Err(problem)) | (Err(problem), _) => reply::failed(problem).into(),
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let call = self.call(&context)?;
        let found = audit::looked(&call, "tasks/get", tasks::get(&call, &request.task_id)).await;
        found.map_err(reply::error)
    }

    async fn update_task(
        &self,
        _: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // No task asks anything of its client.
        let text = "no task here waits for input";
        Err(ErrorData::invalid_params(text, None))
    }

    /// As `run_cancel`, for those who have that.
    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.call(&context)?;
        let run = tasks::run_of(&request.task_id).map_err(reply::error)?;
        let offered = |tool: &&Tool| tool.name() == "run_cancel" && tool.is_offered(call.scope());
        let Some(tool) = self.tools.iter().find(offered) else {
            audit::hidden(&call, "run_cancel").await;
            let text = "this client was not given run_cancel";
            return Err(ErrorData::invalid_params(text, None));
        };
        let mut arguments = JsonObject::new();
        arguments.insert("run_id".to_owned(), run.to_string().into());
        let done = answer(tool, &call, arguments).await;
        done.map(drop).map_err(reply::error)
    }

    /// What rmcp does not know, or knows and cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = reply::cut(&request.method, LONGEST_NAME);
        if METHODS.contains(&method.as_str()) {
            let text = format!("the parameters of {method} cannot be read");
            return Err(ErrorData::invalid_params(text, None));
        }
        let text = format!("there is no method {method}");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let call = self.call(&context)?;
        let all = audit::looked(&call, "resources/list", resources::all(&call)).await;
        let all = all.map_err(reply::error)?;
        Ok(ListResourcesResult::with_all_items(all))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::templates(self.call(&context)?.scope());
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let call = self.call(&context)?;
        let reading = resources::read(&call, &request.uri);
        let read = audit::looked(&call, "resources/read", reading).await;
        let contents = read.map_err(|problem| resources::refused(problem, &request.uri))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(resources::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let call = self.call(context.request_context())?;
        resources::listen(&call, &context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.call(&context)?;
        let adding = self.subscriptions.add(&call, context.peer, &request.uri);
        let added = audit::looked(&call, "resources/subscribe", adding).await;
        added.map_err(|problem| resources::refused(problem, &request.uri))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.call(&context)?;
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = prompts::all(self.call(&context)?.scope());
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let call = self.call(&context)?;
        let arguments = request.arguments.unwrap_or_default();
        let prompt = prompts::get(&call, &request.name, arguments);
        let prompt = audit::looked(&call, "prompts/get", prompt).await;
        Ok(prompt.map_err(reply::error)?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let call = self.call(&context)?;
        let found = completion::complete(&call, &request);
        let found = audit::looked(&call, "completion/complete", found).await;
        Ok(CompleteResult::new(found.map_err(reply::error)?))
    }
}
