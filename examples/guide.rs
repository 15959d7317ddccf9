//! Runs what README.md and the guide in `docs/` show in Rust.

macro_rules! pages {
    ($($name:ident $path:literal)*) => {
        $(#[cfg(doctest)]
        #[doc = include_str!($path)]
        struct $name;)*
    };
}

pages! {
    Readme "../README.md"
    Bulk "../docs/bulk.md"
    FirstEmail "../docs/first-email.md"
    OAuth "../docs/oauth.md"
    Operations "../docs/operations.md"
    SdkTour "../docs/sdk-tour.md"
    Testing "../docs/testing.md"
    Webhooks "../docs/webhooks.md"
}
