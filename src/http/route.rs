//! One row of the table of routes.

use std::borrow::Cow;

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{self, MethodRouter};

use super::audit::Effect;
use super::gate::Access;
use crate::app::App;

pub(super) struct Route {
    pub(super) path: Cow<'static, str>,
    pub(super) access: Access,
    pub(super) effect: Effect,
    pub(super) handled: Handled,
}

/// Who answers, and to which methods.
pub(super) struct Handled {
    pub(super) methods: Vec<Method>,
    pub(super) router: MethodRouter<App>,
}

macro_rules! answers {
    ($($name:ident $method:ident;)*) => {$(
        pub(super) fn $name<T: 'static>(handler: impl Handler<T, App>) -> Handled {
            Handled {
                methods: vec![Method::$method],
                router: routing::$name(handler),
            }
        }
    )*};
}
answers! { get GET; post POST; put PUT; delete DELETE; }
