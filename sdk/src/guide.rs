//! Guides.

#[doc = include_str!("guide/from_resend_rs.md")]
pub mod from_resend_rs {}
