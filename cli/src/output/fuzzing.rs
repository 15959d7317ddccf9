//! Properties of everything that is shown.

use super::report;
use super::terminal::{Terminal, is_hostile};
use crate::diagnostics::Fail;
use crate::settings::ColorChoice;
use crate::settings::env::Env;

/// A failure's message can't control the terminal, and its excerpt is part of the text.
pub(crate) fn check_shown(fail: &Fail) -> String {
    let terminal = Terminal::detect(&Env::from_pairs(&[("COLUMNS", "80")]), ColorChoice::Never);
    let shown = report::render_text(fail, None, None, &terminal, true);
    assert!(!shown.chars().any(|char| is_hostile(char) && char != '\n' && char != '\t'), "{shown:?}");
    let json = report::json(fail, None, None);
    assert!(json["error"]["message"].is_string(), "{json}");
    shown
}
