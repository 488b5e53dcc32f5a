//! One message on its way to its receiver.

use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{ACCEPT, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};

use crate::after::{AfterCall, RunAfter};
use crate::backoff::Retry;
use crate::message::{Addressee, OutgoingMessage};
use branchyard_config::{Config, Statuses, Webhook};
use branchyard_forge::{ForgeRepo, InvalidWebhookSecret, WebhookSecret, authorization};
use branchyard_model::RepoName;

/// A receiver that takes longer is asked again.
const PATIENCE: Duration = Duration::from_secs(30);
/// So much of what a receiver says to a refusal is told.
const SHOWN: usize = 200;
/// And so many bytes of it are read.
const READ: usize = 4 << 10;
/// What GitHub, GitLab and Gitea say of a commit that they do not have. It may be pushed yet; else it never arrives there.
const LACKS_COMMIT: [&str; 3] = [
    "No commit found",
    "Commit Not Found",
    "object does not exist",
];

/// Why a message did not arrive.
#[derive(Debug)]
pub(crate) struct NotDelivered {
    pub(crate) why: String,
    /// After which time the receiver wants to be asked again.
    pub(crate) after: Option<SignedDuration>,
    pub(crate) retry: Retry,
}

impl NotDelivered {
    fn never(why: String) -> Self {
        Self {
            retry: Retry::Never,
            ..Self::from(why)
        }
    }
}

impl From<String> for NotDelivered {
    fn from(why: String) -> Self {
        Self {
            why,
            after: None,
            retry: Retry::ForADay,
        }
    }
}

pub(crate) fn client() -> reqwest::Result<Client> {
    Client::builder()
        .no_proxy()
        .timeout(PATIENCE)
        // A redirect could lead to a server that is not the forge, and that would be given the token.
        .redirect(redirect::Policy::none())
        .build()
}

/// Whether messages to a webhook can be signed.
pub(crate) fn check(webhook: &Webhook) -> Result<(), String> {
    let Some(secret) = webhook.secret()? else {
        return Ok(());
    };
    let parsed: Result<WebhookSecret, _> = secret.expose().parse();
    parsed.map(drop).map_err(|error| error.to_string())
}

pub(crate) async fn send(
    (client, config): (&Client, &Config),
    (run_after, home): (&RunAfter, PathBuf),
    message: &OutgoingMessage,
) -> Result<(), NotDelivered> {
    // What stands in an answer of the forge is shown without the token; the URL of a webhook may hold a secret, which what
    // answers there may repeat.
    let (request, hidden) = match &message.to {
        Addressee::After {
            name,
            variables,
            record,
        } => {
            let mut commands = config.after.iter();
            let command = commands.find_map(|(known, it)| (known.as_str() == name).then_some(it));
            let command = command.filter(|command| command.is_for_repo(&message.repo));
            let command = command.ok_or_else(|| {
                NotDelivered::never(format!(
                    "[after.{name}] is not for this repository any more"
                ))
            })?;
            let call = AfterCall {
                id: message.id,
                repo: message.repo.clone(),
                command: command.clone(),
                variables: variables.clone(),
                record: record.clone(),
                home,
            };
            return run_after(call).await.map_err(|why| NotDelivered {
                why,
                after: None,
                retry: Retry::AFewTimes,
            });
        }
        Addressee::Status { commit, status } => {
            let (repo, (header, value)) = forge(config, &message.repo)?;
            let asked = repo.status_request(commit, status);
            let request = client
                .post(asked.url)
                .header(header, &value)
                .header(ACCEPT, "application/json")
                .json(&asked.body);
            (request, Some(value))
        }
        Addressee::Webhook { name, body } => {
            let mut webhooks = config.webhooks.iter();
            let webhook = webhooks.find_map(|(known, it)| (known.as_str() == name).then_some(it));
            let webhook = webhook.filter(|webhook| webhook.is_for(&message.repo));
            let webhook = webhook.ok_or_else(|| {
                NotDelivered::never(format!(
                    "[webhooks.{name}] is not for this repository any more"
                ))
            })?;
            let request = signed(client, webhook, &message.id.to_string(), body.to_string())?;
            (request, None)
        }
    };
    let request = request.header(
        USER_AGENT,
        concat!("branchyard/", env!("CARGO_PKG_VERSION")),
    );
    let sent = request
        .send()
        .await
        .map_err(|error| chain(&error.without_url()))?;
    judge(sent, hidden.as_deref()).await
}

fn signed(
    client: &Client,
    webhook: &Webhook,
    id: &str,
    body: String,
) -> Result<RequestBuilder, NotDelivered> {
    let now = Timestamp::now().as_second();
    let request = client.post(webhook.url().as_str());
    let request = match webhook.secret()? {
        None => request,
        Some(secret) => {
            let secret: WebhookSecret = secret.expose().parse().map_err(shown)?;
            request.header("webhook-signature", secret.sign(id, now, body.as_bytes()))
        }
    };
    Ok(request
        .header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", now)
        .body(body))
}

/// Where statuses of a repo go, and the header that lets them in.
fn forge(
    config: &Config,
    repo: &RepoName,
) -> Result<(ForgeRepo, (&'static str, String)), NotDelivered> {
    let gone = || {
        NotDelivered::never(format!(
            "the forge of {repo} is not told any more, by the configuration"
        ))
    };
    let settings = config.repos.get(repo).ok_or_else(gone)?;
    if settings.pipelines.statuses == Statuses::Off {
        return Err(gone());
    }
    let url = &settings.url;
    let forge = config.forges.of_url(url).ok_or_else(gone)?;
    let token = forge.token()?.expose().to_owned();
    let place = ForgeRepo::of(forge.kind(), url.as_str(), forge.api());
    let place = place.ok_or_else(|| {
        format!("the URL of {repo} does not say which repository of the forge it is")
    })?;
    Ok((place, authorization(forge.kind(), &token)))
}

fn shown(error: InvalidWebhookSecret) -> NotDelivered {
    error.to_string().into()
}

/// What became of it. Of a refusal is told what the receiver says, without the `token`, where that may be told.
async fn judge(mut answer: Response, token: Option<&str>) -> Result<(), NotDelivered> {
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let after = answer.headers().get(RETRY_AFTER);
    let after = after.and_then(|after| after.to_str().ok()?.parse().ok());
    let mut said = Vec::new();
    while said.len() < READ
        && let Ok(Some(part)) = answer.chunk().await
    {
        said.extend_from_slice(&part);
    }
    let said = String::from_utf8_lossy(&said);
    // GitLab's way to say that it knows already.
    if status == StatusCode::BAD_REQUEST && said.contains("Cannot transition status via") {
        return Ok(());
    }
    let lacks_commit = || LACKS_COMMIT.iter().any(|words| said.contains(words));
    let retry = match token {
        _ if status == StatusCode::GONE => Retry::Never,
        Some(_) if lacks_commit() => Retry::Briefly,
        _ => Retry::ForADay,
    };
    let why = match token {
        Some(token) => {
            let bare = token.rsplit(' ').next().unwrap_or(token);
            let said = said.replace(bare, "***");
            let plain = said.chars().filter(|letter| !letter.is_control());
            let said: String = plain.take(SHOWN).collect();
            format!("HTTP {}: {said}", status.as_u16())
        }
        None => format!("HTTP {}", status.as_u16()),
    };
    Err(NotDelivered {
        why,
        after: after.map(SignedDuration::from_secs),
        retry,
    })
}

/// With what is behind it: an error of HTTP alone says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(behind) = source {
        text.push_str(": ");
        text.push_str(&behind.to_string());
        source = behind.source();
    }
    text
}
