//! Counting of rows with the same recipients.

use std::hash::{DefaultHasher, Hasher as _};

/// The number of rows up to which duplicates are counted: 16 MB of hashes.
const MAX_ROWS: usize = 2_000_000;

/// Counts rows with the same `to`, by 64-bit hashes.
pub(super) struct Duplicates {
    hashes: Option<Vec<u64>>,
}

impl Duplicates {
    pub(super) fn new() -> Self {
        Self { hashes: Some(Vec::new()) }
    }

    /// Adds a row. Names, case and order of the addresses don't matter.
    pub(super) fn add(&mut self, to: &[String]) {
        let Some(hashes) = &mut self.hashes else { return };
        if hashes.len() == MAX_ROWS {
            self.hashes = None;
            return;
        }
        let hash = match to {
            [one] => address(one),
            many => {
                let mut many: Vec<u64> = many.iter().map(|one| address(one)).collect();
                many.sort_unstable();
                let mut all = DefaultHasher::new();
                for one in many {
                    all.write_u64(one);
                }
                all.finish()
            }
        };
        hashes.push(hash);
    }

    /// Returns the number of rows beyond the first of their kind; `None` if there were too many rows.
    pub(super) fn count(self) -> Option<u64> {
        let mut hashes = self.hashes?;
        hashes.sort_unstable();
        Some(hashes.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64)
    }
}

fn address(text: &str) -> u64 {
    let text = text.trim();
    let text = text.strip_suffix('>').and_then(|text| Some(text.rsplit_once('<')?.1)).unwrap_or(text);
    let mut hasher = DefaultHasher::new();
    if text.is_ascii() {
        let mut lower = [0; 64];
        for part in text.as_bytes().chunks(lower.len()) {
            let lower = &mut lower[..part.len()];
            lower.copy_from_slice(part);
            lower.make_ascii_lowercase();
            hasher.write(lower);
        }
    } else {
        hasher.write(text.to_lowercase().as_bytes());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_case_and_order_do_not_matter() {
        let mut duplicates = Duplicates::new();
        let rows: [&[&str]; 7] = [
            &["a@x.test"],
            &["Ada <A@X.test>"],
            &["b@x.test", "É@x.test"],
            &["é@x.test", "b@x.test"],
            &["b@x.test"],
            &["a@x.test"],
            &["b@x.test", "b@x.test"],
        ];
        for row in rows {
            duplicates.add(&row.iter().map(|to| (*to).to_owned()).collect::<Vec<_>>());
        }
        assert_eq!(duplicates.count(), Some(3));
    }

    #[test]
    fn too_many_rows_are_not_counted() {
        let mut duplicates = Duplicates { hashes: Some(vec![0; MAX_ROWS - 1]) };
        duplicates.add(&["a@x.test".to_owned()]);
        assert!(duplicates.hashes.is_some());
        duplicates.add(&["a@x.test".to_owned()]);
        assert_eq!(duplicates.count(), None);
    }
}
