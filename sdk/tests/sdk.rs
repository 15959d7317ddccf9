//! The SDK through its public API, without network and delays: the transport is scripted and the clock is moved.

#[cfg(test)]
mod sdk {
    mod attachments;
    #[cfg(feature = "blocking")]
    mod blocking;
    mod calls;
    #[cfg(feature = "oauth")]
    mod device;
    mod domains;
    mod downloads;
    mod fields;
    mod forwards;
    mod ids;
    mod layers;
    #[cfg(feature = "lettre")]
    mod lettre;
    #[cfg(feature = "oauth")]
    mod matrix;
    #[cfg(feature = "oauth")]
    mod oauth;
    mod outcomes;
    mod overrides;
    mod pages;
    mod positions;
    mod retries;
    mod script;
    #[cfg(feature = "oauth")]
    mod sessions;
    #[cfg(feature = "otel")]
    mod traces;
    mod waits;
}
