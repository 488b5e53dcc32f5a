//! Who one is, tokens, sessions of the page, and the audit.

use serde_json::json;

use super::ACCESS;
use crate::app::audit::AuditRecord;
use crate::app::{MadeToken, RevokedTokens, TokenFilter, TokenRequest, TokenView, WhoAmI};
use crate::http::audit::AuditParams;
use crate::http::listed::Listed;
use crate::http::openapi::events::NDJSON;
use crate::http::openapi::operation::{Content, JSON, Operation, delete, get, post};
use crate::http::openapi::schemas::of;
use crate::http::session::{Link, Visitor};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get(
            ACCESS,
            "/api/whoami",
            "whoami",
            "What one may do, where, and until when",
        )
        .gives::<WhoAmI>(200, "Whoever asks."),
        get(
            ACCESS,
            "/api/tokens",
            "listTokens",
            "The tokens that one made; all of them for `admin`",
        )
        .asks::<TokenFilter>()
        .gives::<Listed<TokenView>>(200, "The tokens, without their text."),
        post(
            ACCESS,
            "/api/tokens",
            "createToken",
            "Make a token, for less than one has oneself",
        )
        .takes::<TokenRequest>()
        .gives::<MadeToken>(201, "The token, and this once its text."),
        get(ACCESS, "/api/tokens/{token}", "showToken", "Show a token")
            .gives::<TokenView>(200, "The token, without its text."),
        delete(
            ACCESS,
            "/api/tokens/{token}",
            "revokeToken",
            "Take a token back, with those that were made with it",
        )
        .gives::<RevokedTokens>(200, "What went."),
        get(
            ACCESS,
            "/api/session",
            "showSession",
            "Who is logged in, if anybody",
        )
        .gives::<Visitor>(200, "To ask is no failure."),
        post(
            ACCESS,
            "/api/session",
            "openSession",
            "Log in to the page: the credential for a cookie",
        )
        .gives::<Visitor>(200, "Whoever is logged in now; the cookie comes with it."),
        delete(
            ACCESS,
            "/api/session",
            "closeSession",
            "Log out of the page",
        )
        .only(204, "The cookie is good no more."),
        post(
            ACCESS,
            "/api/session/ticket",
            "createTicket",
            "A link that logs a browser in, once",
        )
        .gives::<Link>(201, "The link."),
        get(
            ACCESS,
            "/open/{ticket}",
            "redeemTicket",
            "Follow a link that logs in",
        )
        .only(303, "To the page; the cookie comes with it."),
        get(
            ACCESS,
            "/api/audit",
            "listAudit",
            "Who did what, and who was refused",
        )
        .asks::<AuditParams>()
        .answers(
            200,
            "A page, the newest first; as NDJSON all of it, the oldest first, a record a line.",
            vec![
                (JSON, Content::Of(of::<Listed<AuditRecord, i64>>())),
                (NDJSON, Content::Is(json!({ "type": "string" }))),
            ],
        ),
    ]
}
