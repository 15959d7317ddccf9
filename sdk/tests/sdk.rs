//! The SDK through its public doors, without a network and without waiting: the transport is scripted and the clock is moved.

#[cfg(test)]
mod sdk {
    mod calls;
    mod domains;
    mod downloads;
    mod ids;
    mod oauth;
    mod pages;
    mod script;
    mod sessions;
    mod waits;
}
