//! What the types of a handler say about its operation: its query, its body and its answer.

use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use schemars::JsonSchema;

use super::{JSON, Operation, TEXT, given, is, text};
use crate::app::{App, AuthorizedApp};
use crate::http::audit::Noted;
use crate::http::extract::{At, Body, Params};

/// A handler, with arguments of the types `A`.
pub(in crate::http) trait Described<A> {
    fn describe(&self, operation: &mut Operation);
}

/// An argument or the answer of a handler. Many say nothing that their route does not say.
pub(in crate::http) trait Says {
    fn describe(_: &mut Operation) {}
}

/// An answer with a status other than 200.
#[derive(Debug)]
pub(in crate::http) struct With<const STATUS: u16, T>(pub(in crate::http) T);

impl<const STATUS: u16, T: IntoResponse> IntoResponse for With<STATUS, T> {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(STATUS).unwrap_or_default();
        (status, self.0).into_response()
    }
}

impl<const STATUS: u16, T: Says> Says for With<STATUS, T> {
    fn describe(operation: &mut Operation) {
        operation.gives.0 = STATUS;
        T::describe(operation);
    }
}

impl<T: Says, E> Says for Result<T, E> {
    fn describe(operation: &mut Operation) {
        T::describe(operation);
    }
}

/// With a header or a status that the answer's own type does not know. Of statuses, the route says which there are
/// besides the usual one.
impl<H, T: Says> Says for (H, T) {
    fn describe(operation: &mut Operation) {
        T::describe(operation);
    }
}

impl<T: JsonSchema> Says for Json<T> {
    fn describe(operation: &mut Operation) {
        operation.answered(vec![(JSON, given::<T>())]);
    }
}

impl Says for String {
    fn describe(operation: &mut Operation) {
        operation.answered(vec![(TEXT, is(text()))]);
    }
}

impl Says for () {
    fn describe(operation: &mut Operation) {
        operation.answered(Vec::new());
    }
}

impl<T: JsonSchema> Says for Body<T> {
    fn describe(operation: &mut Operation) {
        operation.takes::<T>();
    }
}

impl<T: JsonSchema> Says for Params<T> {
    fn describe(operation: &mut Operation) {
        operation.asks::<T>();
    }
}

impl Says for AuthorizedApp {}
impl Says for HeaderMap {}
impl Says for Method {}
impl Says for Noted {}
impl Says for Request {}
impl Says for Response {}
impl Says for State<App> {}
impl Says for Uri {}
impl<T> Says for At<T> {}
impl<T> Says for Option<Extension<T>> {}

macro_rules! describe_functions {
    ($($argument:ident),*) => {
        impl<F, Fut, $($argument: Says,)*> Described<($($argument,)*)> for F
        where
            F: FnOnce($($argument),*) -> Fut,
            Fut: Future<Output: Says>,
        {
            fn describe(&self, operation: &mut Operation) {
                $($argument::describe(operation);)*
                Fut::Output::describe(operation);
            }
        }
    };
}
describe_functions!();
describe_functions!(A);
describe_functions!(A, B);
describe_functions!(A, B, C);
describe_functions!(A, B, C, D);
describe_functions!(A, B, C, D, E);

/// Its rows say all that there is to say.
impl Described<Self> for MethodRouter<App> {
    fn describe(&self, _: &mut Operation) {}
}
