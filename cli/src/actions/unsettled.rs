//! What to say when a signal ends the program while something is on its way.

use crate::context::Context;

/// Says its sentence when it is dropped before it was settled: then the work around it was given up.
#[derive(Debug)]
pub(crate) struct Unsettled<'a> {
    context: &'a Context,
    sentence: Option<String>,
}

impl<'a> Unsettled<'a> {
    /// From now on something is on its way.
    pub(crate) fn new(context: &'a Context, sentence: String) -> Self {
        Self { context, sentence: Some(sentence) }
    }

    /// It has arrived, or failed: nothing to say.
    pub(crate) fn settled(mut self) {
        self.sentence = None;
    }
}

impl Drop for Unsettled<'_> {
    fn drop(&mut self) {
        if let Some(sentence) = &self.sentence {
            self.context.out.warn(sentence);
        }
    }
}
