//! `--clear FIELD`: clears a field, as opposed to leaving it unchanged.

use super::flags::Flags;

/// The fields that can be cleared, and how.
pub(crate) type Clears<Patch> = [(&'static str, fn(Patch) -> Patch)];

/// Clears the named fields; `set` lists the fields that other flags set.
pub(crate) fn apply<Patch>(
    mut patch: Patch,
    fields: &[String],
    clears: &Clears<Patch>,
    set: &[&str],
    flags: &mut Flags,
) -> Patch {
    for (i, field) in fields.iter().enumerate() {
        match clears.iter().find(|(name, _)| name == field) {
            Some((name, _)) if set.contains(name) => {
                let rule = format!("--{name} and --clear {name} can't be used together");
                flags.wrong_nth("exclusive", rule, "--clear", i + 1, field);
            }
            Some((_, clear)) => patch = clear(patch),
            None => {
                let names: Vec<_> = clears.iter().map(|(name, _)| *name).collect();
                let rule = format!("--clear must be one of {}", names.join(", "));
                flags.wrong_nth("type", rule, "--clear", i + 1, field);
            }
        }
    }
    patch
}
