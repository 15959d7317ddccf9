//! The values of the columns, as named in tables.

use http::Method;

use crate::model::credential::Scope;
use crate::route::{Access, Body, Cost, Effect, Stage};

pub const GET: Method = Method::GET;
pub const POST: Method = Method::POST;
pub const PUT: Method = Method::PUT;
pub const PATCH: Method = Method::PATCH;
pub const DELETE: Method = Method::DELETE;

pub const HEALTH: Access = Access::Health;
pub const OPEN: Access = Access::Open;
pub const LINK: Access = Access::Link;
pub const SEND: Access = Access::Key(Scope::Send);
pub const ANY_KEY: Access = Access::Key(Scope::AnyKey);
pub const FULL: Access = Access::Key(Scope::Full);
pub const PASSWORD: Access = Access::Password;

pub const READS: Effect = Effect::Reads;
pub const CHANGES: Effect = Effect::Changes;
pub const SENDS: Effect = Effect::Sends;
pub const MOVES_CLOCK: Effect = Effect::MovesClock;

pub const QUICK: Cost = Cost::Quick;
pub const SLOW: Cost = Cost::Slow;

pub const JSON: Body = Body::Json;
pub const ANY: Body = Body::Any;
pub const IMPORT: Body = Body::Import;

pub const STABLE: Stage = Stage::Stable;
pub const BETA: Stage = Stage::Beta;

/// The media types of successful responses.
pub const HTML: &[&str] = &["text/html"];
pub const PLAIN_TEXT: &[&str] = &["text/plain"];
pub const MESSAGE: &[&str] = &["message/rfc822"];
/// A file of any type; generators omit responses that declare only `*/*`.
pub const FILE: &[&str] = &["application/octet-stream", "*/*"];
/// No content.
pub const NOTHING: &[&str] = &[];
