//! Audiences: the former name of segments. Their routes still work and will be removed (`SPEC.md`, Versioning).

mod operations;

pub use operations::Audiences;
