//! Row selections.

use serde::{Deserialize, Serialize};

/// Row numbers as ascending ranges: outcomes are per batch, and a batch's rows are mostly consecutive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Selection(Vec<(u64, u64)>);

impl Selection {
    pub(crate) fn new(mut rows: Vec<u64>) -> Self {
        rows.sort_unstable();
        let mut selection = Self::default();
        for row in rows {
            selection.push(row);
        }
        selection
    }

    /// Adds a row, which must not precede the others.
    pub(crate) fn push(&mut self, row: u64) {
        match self.0.last_mut() {
            Some((_, last)) if row <= *last + 1 => *last = row,
            _ => self.0.push((row, row)),
        }
    }

    pub(crate) fn contains(&self, row: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= row);
        after.checked_sub(1).is_some_and(|at| row <= self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_rows_are_one_range() {
        let selection = Selection::new(vec![7, 3, 1, 2, 2, 9, 8]);
        assert_eq!(selection, Selection(vec![(1, 3), (7, 9)]));
        let selected: Vec<u64> = (0..12).filter(|row| selection.contains(*row)).collect();
        assert_eq!(selected, [1, 2, 3, 7, 8, 9]);
        assert!(!selection.0.is_empty());
        assert!(!Selection::default().contains(0) && Selection::default().0.is_empty());
    }
}
