//! The cells of a CSV row.

/// The cells of a row, borrowed from the reader's buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'a> {
    text: &'a str,
    ends: &'a [usize],
}

impl<'a> Cells<'a> {
    /// Returns `None` if a cell isn't valid UTF-8.
    pub(super) fn new(bytes: &'a [u8], ends: &'a [usize]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        // The delimiters have been removed, so halves of two broken characters may look like a valid one.
        ends.iter().all(|end| text.is_char_boundary(*end)).then_some(Self { text, ends })
    }

    pub(crate) fn len(self) -> usize {
        self.ends.len()
    }

    /// Returns a cell; a missing one is empty.
    pub(crate) fn get(self, index: usize) -> &'a str {
        let start = if index == 0 { Some(&0) } else { self.ends.get(index - 1) };
        match (start, self.ends.get(index)) {
            (Some(start), Some(end)) => &self.text[*start..*end],
            _ => "",
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = &'a str> {
        (0..self.len()).map(move |index| self.get(index))
    }
}
