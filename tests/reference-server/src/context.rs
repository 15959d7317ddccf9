//! The context of a handler.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use url::form_urlencoded;
use uuid::Uuid;

use crate::delivery::contacts::ContactService;
use crate::model::credential::Made;
use crate::state::State;
use crate::state::tenant::Tenant;
use crate::wire::paging::quoted;
use crate::wire::pattern::segments;
use crate::wire::problem::Problem;
use crate::wire::validation::{Body, Fields, Ignored, Problems};

/// The context of a handler: the service's state, the request and its tenant.
pub(crate) struct Context<'a> {
    pub(crate) state: &'a State,
    pub(crate) request: &'a Request<Bytes>,
    pub(crate) tenant: Arc<Tenant>,
    /// The ID of the credential, if `POST /api-keys` created it.
    pub(crate) key: Option<Made>,
    /// The route's path pattern, with its parameters in braces.
    pattern: &'static str,
    ignored: &'a RefCell<Ignored>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        state: &'a State,
        request: &'a Request<Bytes>,
        tenant: Arc<Tenant>,
        pattern: &'static str,
        ignored: &'a RefCell<Ignored>,
    ) -> Self {
        Self { state, request, tenant, key: None, pattern, ignored }
    }

    /// A path parameter by its index, decoded.
    pub(crate) fn parameter(&self, place: usize) -> Cow<'_, str> {
        let mut parameters = segments(self.pattern)
            .zip(segments(self.request.uri().path()))
            .filter(|(pattern, _)| pattern.starts_with('{'));
        let text = parameters.nth(place).map_or("", |(_, text)| text);
        percent_decode_str(text).decode_utf8_lossy()
    }

    /// The first path parameter, which must be an ID. `what` names the resource, with its article: `an email`.
    pub(crate) fn id(&self, what: &str) -> Result<Uuid, Problem> {
        self.id_at(0, what)
    }

    /// A path parameter by its index, which must be an ID.
    pub(crate) fn id_at(&self, place: usize, what: &str) -> Result<Uuid, Problem> {
        let text = self.parameter(place);
        Uuid::try_parse(&text).map_err(|_| {
            Problem::invalid_parameter(format!("The id of {what} must be a UUID; found {}.", quoted(&text)))
        })
    }

    /// The service's current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.state.clock.now()
    }

    /// Changes contacts and notifies webhooks.
    pub(crate) fn contacts(&self) -> ContactService<'_> {
        ContactService { state: self.state, tenant: &self.tenant, at: self.now() }
    }

    /// Reads the body with `read`, which collects problems. Returns the input, or all problems at once.
    pub(crate) fn body<T>(
        &self,
        read: impl FnOnce(&mut Fields<'_>, &mut Problems, &mut Ignored) -> Option<T>,
    ) -> Result<T, Problem> {
        let body = Body::read(self.request.body())?;
        let (mut problems, mut ignored) = (Problems::default(), self.ignored());
        let made = Fields::read_body(body, &mut problems).and_then(|mut fields| {
            let made = read(&mut fields, &mut problems, &mut ignored);
            fields.leave(&mut ignored);
            made
        });
        match (made, problems.into_problem()) {
            (_, Some(problem)) => Err(problem),
            (Some(made), None) => Ok(made),
            (None, None) => Err(Problem::application("A request was refused without a reason.")),
        }
    }

    /// A query parameter; of repeated ones the last counts.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let query = self.request.uri().query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes());
        pairs.filter(|(found, _)| found == name).last().map(|(_, value)| value.into_owned())
    }

    /// Collects the names of ignored fields.
    pub(crate) fn ignored(&self) -> IgnoredGuard<'_> {
        IgnoredGuard(self.ignored.borrow_mut())
    }
}

/// The names of ignored fields while a body is read.
pub(crate) struct IgnoredGuard<'a>(std::cell::RefMut<'a, Ignored>);

impl Deref for IgnoredGuard<'_> {
    type Target = Ignored;

    fn deref(&self) -> &Ignored {
        &self.0
    }
}

impl DerefMut for IgnoredGuard<'_> {
    fn deref_mut(&mut self) -> &mut Ignored {
        &mut self.0
    }
}
