//! A route as data: its requirements, effect and cost, declared once for the lookup, the guard, the mounts and the route documentation.

pub mod columns;
pub mod lookup;

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use jiff::Timestamp;
use serde_json::Value;

use crate::context::Context;
use crate::model::contact_import;
use crate::model::credential::Scope;
use crate::reply::Reply;
use crate::settings::Settings;
use crate::state::State;
use crate::state::tenant::Tenant;
use crate::wire::described::{Described, Named};
use crate::wire::{
    Cancellation, Checked, Fields, HandlerResult, Input, Parameters, Problem, fields, pattern,
};

pub use crate::route::lookup::{RouteMatch, Routes};

/// Routes with the same form of errors.
pub struct Table {
    pub area: Area,
    /// Path prefixes: an unknown path with one of them belongs to this table.
    pub prefixes: &'static [&'static str],
    /// The form of its errors.
    pub errors: fn(Problem) -> Response<Bytes>,
    /// Whether a request without a credential is for the default account. Such a table also accepts a credential sent with Basic authentication.
    pub anonymous: bool,
    pub routes: &'static [Route],
}

/// The properties of all routes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The service's API: rate-limited, logged, subject to scripted faults.
    Service,
    /// The service's authorization server: logged, and subject to scripted faults.
    OAuth,
    /// The sandbox's own.
    Own,
}

/// A route.
pub struct Route {
    pub method: Method,
    /// `{…}` matches one segment, `{folder}` only `messages` and `received`. Literal segments take precedence. A trailing slash is accepted.
    pub path: &'static str,
    pub access: Access,
    pub effect: Effect,
    pub cost: Cost,
    pub body: Body,
    pub stage: Stage,
    /// The description, for the documentation of the sandbox's own routes. `openapi.yaml` describes the others.
    pub about: &'static str,
    /// The inputs, of the sandbox's own routes only: the parameters of the query, in groups.
    pub query: &'static [&'static [Input]],
    /// The fields of the JSON body.
    pub fields: &'static [Input],
    /// The media types of a body that has its own reader.
    pub media_types: &'static [&'static str],
    /// The status of a successful response, and its media types.
    pub success: (u16, &'static [&'static str]),
    /// The schema of its JSON.
    pub schema: Option<fn(&mut Named) -> Value>,
    pub handler: Handler,
}

/// The access that a request needs. If the sandbox has no password, a key only names the account, and every program on this machine may use the
/// routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing, not even a known host name: for health checks.
    Health,
    /// Nothing: the response contains no account's data.
    Open,
    /// Nothing: the URL is its own authorization, so it also works from other origins. A link in an email, or to a login.
    Link,
    /// A credential with this scope.
    Key(Scope),
    /// The password, if the sandbox has one, since the route affects all accounts.
    Password,
}

/// The effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes no data of an account.
    Reads,
    Changes,
    /// Changes data, and supports `Idempotency-Key`.
    Sends,
    /// Runs all jobs that become due, which may take a long time.
    MovesClock,
}

/// Where a request is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Inline: takes less than a millisecond.
    Quick,
    /// On a blocking thread: searches, metrics, derived texts, the first step of a broadcast.
    Slow,
}

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// JSON, or none.
    Json,
    /// A form, a message, or anything else.
    Any,
    /// The parts of a contact import.
    Import,
}

/// Whether the service may still change the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Stable,
    Beta,
}

/// The handler of a request, by its argument.
#[derive(Clone, Copy)]
pub enum Handler {
    /// An operation of the service, with the account of the credential.
    Service(fn(&Context<'_>) -> HandlerResult),
    /// An endpoint of the authorization server, which has its own form of errors.
    OAuth(fn(&State, &Request<Bytes>) -> Response<Bytes>),
    /// No account.
    Open(fn(&Call<'_>) -> HandlerResult),
    /// No account, although the request needs a valid key or the password: the route belongs to the whole service.
    AnyKey(fn(&Call<'_>) -> HandlerResult),
    /// Like [`AnyKey`](Self::AnyKey), for a response that isn't complete when the handler returns.
    AnyKeyLater(fn(&Call<'_>) -> Result<Reply, Problem>),
    /// The account of the request. It is created if it doesn't exist, unless the route only reads.
    Account(fn(&AccountCall<'_>) -> HandlerResult),
    /// Like [`Account`](Self::Account), for a response that isn't complete when the handler returns.
    Later(fn(&AccountCall<'_>) -> Result<Reply, Problem>),
}

/// The maximum size of a request body, in bytes, where no credential is needed.
const MAX_OPEN_BODY: usize = 1 << 20;

/// Creates a route from the columns of a table, in order.
#[rustfmt::skip]
#[expect(clippy::too_many_arguments, reason = "a row names every column")]
pub const fn route(
    method: Method, path: &'static str, access: Access, effect: Effect, cost: Cost, body: Body, stage: Stage, handler: Handler,
) -> Route {
    let mut route = own_route(method, path, access, effect, cost, body, "", handler);
    route.stage = stage;
    route
}

/// Creates a route of the sandbox's own from the columns of a table, in order.
#[rustfmt::skip]
#[expect(clippy::too_many_arguments, reason = "a row names every column")]
pub const fn own_route(
    method: Method, path: &'static str, access: Access, effect: Effect, cost: Cost, body: Body, about: &'static str, handler: Handler,
) -> Route {
    Route {
        method, path, access, effect, cost, body, stage: Stage::Stable, about, query: &[], fields: &[], media_types: &[],
        success: (200, &[]), schema: None, handler,
    }
}

impl Route {
    /// Adds groups of query parameters.
    #[must_use]
    pub const fn query(mut self, query: &'static [&'static [Input]]) -> Self {
        self.query = query;
        self
    }

    /// Adds the fields of a JSON body.
    #[must_use]
    pub const fn fields(mut self, fields: &'static [Input]) -> Self {
        self.fields = fields;
        self
    }

    /// Adds the media types of a body that has its own reader.
    #[must_use]
    pub const fn media_types(mut self, media_types: &'static [&'static str]) -> Self {
        self.media_types = media_types;
        self
    }

    /// Declares the JSON of a successful response.
    #[must_use]
    pub const fn returns<T: Described>(mut self, status: u16) -> Self {
        self.success = (status, &["application/json"]);
        self.schema = Some(T::schema);
        self
    }

    /// Declares a successful response of these media types.
    #[must_use]
    pub const fn sends(mut self, status: u16, media_types: &'static [&'static str]) -> Self {
        self.success = (status, media_types);
        self
    }

    /// The path within which an `Idempotency-Key` is unique: a key that was used for one record can be used for another.
    pub fn idempotency_scope<'a>(&'a self, request: &'a Request<Bytes>) -> &'a str {
        if self.path.contains('{') { request.uri().path() } else { self.path }
    }

    /// 404: the operation is in beta, and the service doesn't serve beta operations.
    pub fn beta_disabled(&self) -> Problem {
        let message = format!(
            "{} {} is in beta, and this sandbox serves no beta operations. Start it with `--beta` (`Settings::beta`) to enable them.",
            self.method, self.path
        );
        Problem::new(StatusCode::NOT_FOUND, "beta_disabled", message)
    }

    /// The maximum size of a request body, in bytes.
    pub fn body_limit(&self, settings: &Settings) -> usize {
        match self.body {
            Body::Json | Body::Any if matches!(self.access, Access::Health | Access::Open | Access::Link) => {
                settings.body_limit.min(MAX_OPEN_BODY)
            }
            Body::Json | Body::Any => settings.body_limit,
            Body::Import => {
                (contact_import::MAX_FILE + contact_import::MAX_PARTS).min(settings.record_bytes())
            }
        }
    }
}

/// A request of a route without an account.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub state: &'a State,
    pub request: &'a Request<Bytes>,
    pub routes: &'static Routes,
    pub route: &'static Route,
}

/// A request and its account.
pub struct AccountCall<'a> {
    call: Call<'a>,
    /// Not created by requests that only read.
    pub tenant: Arc<Tenant>,
}

impl<'a> Call<'a> {
    pub fn for_account(self, tenant: Arc<Tenant>) -> AccountCall<'a> {
        AccountCall { call: self, tenant }
    }

    /// A path parameter by its index, decoded; empty if there are fewer.
    pub fn parameter(&self, index: usize) -> Cow<'a, str> {
        pattern::parameter(self.route.path, self.request.uri().path(), index)
    }

    pub fn query(&self) -> Option<&'a str> {
        self.request.uri().query()
    }

    pub fn parameters(&self) -> Parameters<'a> {
        Parameters::declared(self.query(), self.route.query)
    }

    /// Reads the JSON body, which may contain only the route's fields.
    pub fn body<T>(&self, read: impl FnOnce(&mut Fields<'_>) -> Checked<T>) -> Result<T, Problem> {
        fields::read_strict(self.request.body(), self.route.fields, read)
    }

    pub fn cancellation(&self) -> Cancellation {
        Cancellation::from_request(self.request)
    }
}

impl AccountCall<'_> {
    /// The account's current time.
    pub fn now(&self) -> Timestamp {
        self.tenant.clock.now()
    }
}

impl<'a> Deref for AccountCall<'a> {
    type Target = Call<'a>;

    fn deref(&self) -> &Call<'a> {
        &self.call
    }
}
