//! `--clear FIELD`: takes away what a thing has, which is not the same as leaving it as it is.

use super::flags::Flags;

/// What can be taken away, and how.
pub(crate) type Clears<Patch> = [(&'static str, fn(Patch) -> Patch)];

/// Clears the fields that were named; `set` are those that other flags set at the same time.
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
                let rule = format!("--{name} and --clear {name} exclude each other");
                flags.wrong_nth("exclusive", rule, "--clear", i + 1, field);
            }
            Some((_, clear)) => patch = clear(patch),
            None => {
                let names: Vec<_> = clears.iter().map(|(name, _)| *name).collect();
                let rule = format!("what can be taken away is one of {}", names.join(", "));
                flags.wrong_nth("type", rule, "--clear", i + 1, field);
            }
        }
    }
    patch
}
