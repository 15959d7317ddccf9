//! The SDK through its public API, without network and delays: the transport is scripted and the clock is moved.

#[cfg(test)]
mod sdk {
    #[cfg(feature = "blocking")]
    mod blocking;
    mod calls;
    mod domains;
    mod downloads;
    mod forwards;
    mod ids;
    mod layers;
    #[cfg(feature = "oauth")]
    mod oauth;
    mod outcomes;
    mod pages;
    mod script;
    #[cfg(feature = "oauth")]
    mod sessions;
    #[cfg(feature = "otel")]
    mod traces;
    mod waits;
}
