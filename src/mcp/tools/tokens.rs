//! Who one is, and tokens for others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{MadeToken, RevokedTokens, TokenFilter, TokenRequest, TokenView, WhoAmI, tokens};
use crate::mcp::call::Call;
use crate::mcp::page::{Paged, paged};
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Nothing, Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{Problem, Scope};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new::<Nothing, WhoAmI, _>(
            &ToolEntry {
                name: "whoami",
                title: "Say who you are here",
                description: "Says under which name you are known here, what you may do, in which repos and branches, and \
                    until when. Ask when something is refused.",
                set: Toolset::Yard,
                right: Scope::RepoRead,
                effect: Effect::READS,
            },
            whoami,
        ),
        Tool::new::<TokenRequest, MadeToken, _>(
            &ToolEntry {
                name: "token_create",
                title: "Make a token for an agent",
                description: "Makes a token for an agent that you start: for what you may do yourself, or less, and for no \
                    longer. The answer holds the secret, once; put it into the agent's environment or a file that \
                    only it can read, and into no log or message.",
                set: Toolset::Admin,
                right: Scope::Admin,
                effect: Effect::WRITES,
            },
            create,
        ),
        Tool::new::<WantedToken, Paged<Listed<'_>>, _>(
            &ToolEntry {
                name: "token_list",
                title: "List tokens",
                description: "Lists the tokens that there are, with what each is good for, who made it, when it expires and \
                    when it was last used. Secrets are not kept, and so not shown.",
                set: Toolset::Admin,
                right: Scope::Admin,
                effect: Effect::READS,
            },
            list,
        ),
        Tool::new::<NamedToken, RevokedTokens, _>(
            &ToolEntry {
                name: "token_revoke",
                title: "Revoke a token",
                description: "Takes a token back at once, by name or id, with every token that was made with it. Streams \
                    that their holders have open end; builds go on. It cannot be undone.",
                set: Toolset::Admin,
                right: Scope::Admin,
                effect: Effect::DESTROYS.repeatable(),
            },
            revoke,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NamedToken {
    /// The token's name or id, as `token_list` shows them.
    token: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WantedToken {
    /// Also those that expired or were revoked, for a week after that.
    #[serde(default)]
    all: bool,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed<'a> {
    items: &'a [TokenView],
}

async fn whoami(call: Call, _: Nothing) -> Result<Reply, Problem> {
    let me = tokens::whoami(call.app());
    let scopes: Vec<_> = me.good.scopes.iter().map(|scope| scope.as_str()).collect();
    let text = format!("you are {}, and may {}", me.name, scopes.join(", "));
    call.reply(&me, text)
}

async fn create(call: Call, request: TokenRequest) -> Result<Reply, Problem> {
    let made = tokens::make_token(call.app(), &request).await?;
    // The secret is said once, where programs look for it.
    let text = format!("made {}; its secret is in `token`", made.made.name);
    call.reply(&made, text)
}

async fn list(call: Call, asked: WantedToken) -> Result<Reply, Problem> {
    let tokens = tokens::list(call.app(), &TokenFilter { all: asked.all });
    paged(&tokens, asked.cursor.as_deref(), |page| {
        let line = |token: &TokenView| {
            let role = token.role.as_deref().unwrap_or("scopes of its own");
            format!("{} ({role}), by {}\n", token.name, token.created_by)
        };
        let mut text: String = page.shown.iter().map(line).collect();
        if tokens.is_empty() {
            text.push_str("there are no tokens");
        }
        page.reply(&call, &Listed { items: page.shown }, text, false)
    })
}

async fn revoke(call: Call, NamedToken { token }: NamedToken) -> Result<Reply, Problem> {
    let revoked = tokens::revoke_token(call.app(), &token).await?;
    let mut text = format!("{} is revoked", revoked.revoked.name);
    if !revoked.with_it.is_empty() {
        text += &format!(", and with it {}", revoked.with_it.join(", "));
    }
    call.reply(&revoked, text)
}
