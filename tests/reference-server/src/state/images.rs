//! The remote images of emails, loaded when a user requests it.
//!
//! The service itself opens no connection: the mount waits for the images before it sends the response.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use url::Url;
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::lock::lock;
use crate::store::expiring::{Expires, Expiring};

/// The maximum number of bytes of the images of an email. As Base64, they fit into the shown document.
const MAX_EMAIL: usize = 16 << 20;
/// The lifetime of images, by the sandbox's clock.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// The images of an email to load.
#[derive(Clone, Debug)]
pub struct ImageJob {
    pub mail: Uuid,
    pub urls: Vec<Url>,
    /// The number of all images of the email, including those that aren't loaded.
    pub total: usize,
}

/// A loaded image, with the media type of its content.
#[derive(Clone, Debug, Serialize)]
pub struct Image {
    pub kind: &'static str,
    pub bytes: Bytes,
}

/// The result for one URL: an image, or why it wasn't loaded.
pub type ImageResult = Result<Image, String>;

/// The loaded images of one email.
#[derive(Debug, Serialize)]
pub struct LoadedImages {
    loaded_at: Timestamp,
    /// Sorted by URL.
    images: Vec<(String, ImageResult)>,
}

impl LoadedImages {
    pub fn new(loaded_at: Timestamp, mut images: Vec<(String, ImageResult)>) -> Self {
        images.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        images.shrink_to_fit();
        Self { loaded_at, images }
    }

    pub fn get(&self, url: &Url) -> Option<&ImageResult> {
        let found = self.images.binary_search_by(|(known, _)| known.as_str().cmp(url.as_str()));
        found.ok().map(|at| &self.images[at].1)
    }
}

impl Expires for Arc<LoadedImages> {
    fn expires_at(&self) -> Timestamp {
        saturating_add(self.loaded_at, LIFETIME)
    }
}

/// The loaded images by email. Over its limit, and after their lifetime, the oldest are evicted.
pub struct ImageStore {
    emails: Mutex<Expiring<Arc<LoadedImages>>>,
    max_bytes: usize,
}

impl ImageStore {
    pub fn new(max_bytes: usize) -> Self {
        Self { emails: Mutex::new(Expiring::new()), max_bytes }
    }

    /// The maximum number of bytes of the images of an email.
    pub fn max_email(&self) -> usize {
        MAX_EMAIL.min(self.max_bytes / 2)
    }

    pub fn insert(&self, mail: Uuid, images: LoadedImages, now: Timestamp) {
        let (name, images) = (mail.to_string(), Arc::new(images));
        let mut emails = lock(&self.emails);
        emails.remove(&name);
        emails.evict_expired(now);
        let size = Expiring::size(&name, &images);
        if size > self.max_bytes {
            return;
        }
        while emails.bytes() + size > self.max_bytes && emails.evict_first() {}
        emails.insert(name, images);
    }

    pub fn get(&self, mail: Uuid, now: Timestamp) -> Option<Arc<LoadedImages>> {
        let mut emails = lock(&self.emails);
        emails.evict_expired(now);
        emails.get(&mail.to_string()).cloned()
    }

    pub fn clear(&self) {
        *lock(&self.emails) = Expiring::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(at: i64, size: usize) -> LoadedImages {
        let image = Image { kind: "image/png", bytes: Bytes::from(vec![0; size]) };
        let url = "https://cdn.example/logo.png".to_owned();
        LoadedImages::new(Timestamp::from_second(at).unwrap(), vec![(url, Ok(image))])
    }

    #[test]
    fn every_byte_counts_and_the_oldest_images_are_evicted() {
        let store = ImageStore::new(64 << 10);
        let now = Timestamp::from_second(100).unwrap();
        let ids: Vec<_> = (1..=20).map(Uuid::from_u128).collect();
        for (at, id) in ids.iter().enumerate() {
            store.insert(*id, images(i64::try_from(at).unwrap(), 10_000), now);
            assert!(lock(&store.emails).bytes() <= 64 << 10);
        }
        let kept: Vec<_> = ids.iter().filter(|id| store.get(**id, now).is_some()).collect();
        assert_eq!(kept, ids[14..].iter().collect::<Vec<_>>());
        // Failures have a size, too.
        let failed = (0..100).map(|n| (format!("https://x.example/{n}"), Err("x".repeat(1_000)))).collect();
        store.insert(ids[0], LoadedImages::new(now, failed), now);
        assert!(store.get(ids[0], now).is_none() && store.get(ids[19], now).is_some());
    }

    #[test]
    fn images_expire_by_the_clock() {
        let (store, id) = (ImageStore::new(1 << 20), Uuid::nil());
        store.insert(id, images(0, 10), Timestamp::from_second(0).unwrap());
        assert!(store.get(id, Timestamp::from_second(3_599).unwrap()).is_some());
        assert!(store.get(id, Timestamp::from_second(3_600).unwrap()).is_none());
        assert_eq!(lock(&store.emails).bytes(), 0);
    }
}
