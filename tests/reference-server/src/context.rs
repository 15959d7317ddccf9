//! The context of a handler.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use jiff::Timestamp;
use uuid::Uuid;

use crate::model::credential::CreatedKey;
use crate::state::State;
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;
use crate::store::table::{Record, Table};
use crate::wire::view::{Listed, Shown};
use crate::wire::{
    Body, Checked, Fields, HandlerResult, IdForm, Ignored, Mode, Parameters, Problem, Window, fields, json,
    list, pattern, quote,
};

/// The context of a handler: the service's state, the request and its tenant.
pub struct Context<'a> {
    pub state: &'a State,
    pub request: &'a Request<Bytes>,
    pub tenant: Arc<Tenant>,
    /// The ID of the credential, if `POST /api-keys` created it.
    pub key: Option<CreatedKey>,
    /// The route's path pattern, with its parameters in braces.
    pub pattern: &'static str,
    /// The names of the body's ignored fields.
    pub ignored: &'a RefCell<Ignored>,
}

impl Context<'_> {
    /// A path parameter by its index, decoded.
    pub fn parameter(&self, index: usize) -> Cow<'_, str> {
        pattern::parameter(self.pattern, self.request.uri().path(), index)
    }

    /// The first path parameter, which must be an ID. `what` names the resource, with its article: `an email`.
    pub fn id(&self, what: &str) -> Result<Uuid, Problem> {
        self.id_at(0, what)
    }

    /// A path parameter by its index, which must be an ID.
    pub fn id_at(&self, index: usize, what: &str) -> Result<Uuid, Problem> {
        let text = self.parameter(index);
        Uuid::try_parse(&text).map_err(|_| {
            Problem::invalid_parameter(format!("The id of {what} must be a UUID; found {}.", quote(&text)))
        })
    }

    /// Finds the record of the first path parameter, an ID.
    pub fn find<T: Record>(&self, table: &Table<T>) -> Result<Arc<T>, Problem> {
        self.find_at(0, table)
    }

    /// Finds the record of a path parameter by its index.
    pub fn find_at<T: Record>(&self, index: usize, table: &Table<T>) -> Result<Arc<T>, Problem> {
        table.get(self.id_at(index, T::NOUN)?).ok_or_else(T::not_found)
    }

    /// Finds the record that a path parameter, given by its index, names by ID or key.
    pub fn find_by_id_or_key<T: Record>(&self, index: usize, table: &Table<T>) -> Result<Arc<T>, Problem> {
        table.find(&self.parameter(index)).ok_or_else(T::not_found)
    }

    /// Responds with a page of the records of a table.
    pub fn list<T: Record + Listed>(&self, table: &Table<T>, mode: Mode) -> HandlerResult {
        Ok(list(&table.page(&self.window(mode)?)?.show(T::item)))
    }

    /// Responds with the record of the first path parameter.
    pub fn show<T: Record + Shown>(&self, table: &Table<T>) -> HandlerResult {
        Ok(json(StatusCode::OK, &self.find(table)?.detail()))
    }

    /// The account's current time.
    pub fn now(&self) -> Timestamp {
        self.tenant.clock.now()
    }

    /// The account, now.
    pub fn moment(&self) -> Moment<'_> {
        Moment { state: self.state, tenant: &self.tenant, at: self.now() }
    }

    /// Reads the body with `read`. Returns the input, or all problems.
    pub fn body<T>(&self, read: impl FnOnce(&mut Fields<'_>) -> Checked<T>) -> Result<T, Problem> {
        Ok(fields::read(Body::parse(self.request.body())?, self.ignored, read)?)
    }

    /// The page that the query selects.
    pub fn window(&self, mode: Mode) -> Result<Window, Problem> {
        Window::read(self.request.uri().query(), mode)
    }

    /// The page that the query selects from a list with IDs of this form.
    pub fn window_of(&self, mode: Mode, ids: IdForm) -> Result<Window, Problem> {
        Window::read_with(self.request.uri().query(), mode, ids)
    }

    /// All query parameters.
    pub fn parameters(&self) -> Parameters<'_> {
        Parameters::new(self.request.uri().query())
    }

    /// A query parameter whose value must be one of these words.
    pub fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Problem> {
        self.parameters().one_of(name, words)
    }

    /// A query parameter; the last one if it is repeated.
    pub fn query(&self, name: &str) -> Option<String> {
        self.parameters().text(name).map(str::to_owned)
    }
}
