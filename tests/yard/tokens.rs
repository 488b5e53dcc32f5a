//! Tokens at the wire: what is made of a credential, who sees and revokes it, and what is left of it on disk.

mod attacks;
mod delegation;
mod life;
mod lost;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::support::{Yard, json_of, problem_of};

/// A request of whoever shows this credential.
fn with(yard: &Yard, token: &str, method: Method, path: &str) -> RequestBuilder {
    let request = yard.client.request(method, format!("{}{path}", yard.url));
    request.bearer_auth(token)
}

async fn get(yard: &Yard, token: &str, path: &str) -> Response {
    with(yard, token, Method::GET, path).send().await.unwrap()
}

async fn delete(yard: &Yard, token: &str, path: &str) -> Response {
    with(yard, token, Method::DELETE, path)
        .send()
        .await
        .unwrap()
}

async fn ask_for(yard: &Yard, maker: &str, request: &Value) -> Response {
    let asking = with(yard, maker, Method::POST, "/api/tokens").json(request);
    asking.send().await.unwrap()
}

/// A token of this role and name; the secret.
async fn make(yard: &Yard, maker: &str, role: &str, name: &str) -> String {
    let request = json!({ "role": role, "name": name });
    let made = json_of(ask_for(yard, maker, &request).await).await;
    secret_of(&made)
}

fn secret_of(made: &Value) -> String {
    made["token"].as_str().unwrap().to_owned()
}

async fn name_of(yard: &Yard, token: &str) -> Value {
    json_of(get(yard, token, "/api/whoami").await).await["name"].clone()
}

async fn names(yard: &Yard, token: &str) -> Vec<String> {
    let list = json_of(get(yard, token, "/api/tokens").await).await;
    let items = list["items"].as_array().unwrap();
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    items.iter().map(name).collect()
}

/// Why a credential is refused.
async fn refused(yard: &Yard, token: &str) -> String {
    let (status, problem) = problem_of(get(yard, token, "/api/whoami").await).await;
    assert_eq!((status, &problem["code"]), (401, &json!("unauthorized")));
    problem["detail"].as_str().unwrap().to_owned()
}
