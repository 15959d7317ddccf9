//! The limits of `SPEC.md`, in the units in which it states them.

/// Problems of one input that are listed; those beyond are only counted.
pub const PROBLEMS_LISTED: usize = 1_000;
/// Steps of one automation; at least 1.
pub const STEPS_PER_AUTOMATION: usize = 150;
/// Emails in one batch.
pub const EMAILS_PER_BATCH: usize = 100;
/// Addresses in `to`. The specification states no limit for `cc` and `bcc`.
pub const RECIPIENTS_IN_TO: usize = 50;
/// Bytes of all attachments of one email after Base64. The specification says "40 MB" and is silent on which;
/// this is the larger reading (40 MiB), so nothing that the service takes is refused here.
pub const ATTACHMENTS_ENCODED_BYTES: u64 = 40 * 1024 * 1024;
/// The smaller reading of "40 MB" (40,000,000 bytes): above it an email goes out with a warning.
pub const ATTACHMENTS_ENCODED_BYTES_ADVISED: u64 = 40_000_000;
/// Characters of an `Idempotency-Key`; at least 1.
pub const IDEMPOTENCY_KEY_CHARS: usize = 256;
/// Seconds for which the service remembers an `Idempotency-Key`: 24 hours.
pub const IDEMPOTENCY_KEY_SECONDS: u64 = 24 * 60 * 60;
/// Characters of a tag's name, and of its value.
pub const TAG_CHARS: usize = 256;
/// Characters of a template variable's key when sending.
pub const VARIABLE_KEY_CHARS: usize = 50;
/// Characters (Unicode scalar values) of a template variable's text when sending.
pub const VARIABLE_VALUE_CHARS: usize = 2_000;
/// The largest number that a template variable can hold: 2^53 − 1. The specification states no least one.
pub const VARIABLE_VALUE_MAX: u64 = (1 << 53) - 1;
/// The most items on one page of a list; at least 1.
pub const PAGE_SIZE_MAX: u8 = 100;
/// Items on a page of a mode A list when no limit is given.
pub const PAGE_SIZE_DEFAULT: u8 = 20;
/// Characters of a topic's name.
pub const TOPIC_NAME_CHARS: usize = 50;
/// Characters of a topic's description.
pub const TOPIC_DESCRIPTION_CHARS: usize = 200;
/// Variables of one template.
pub const VARIABLES_PER_TEMPLATE: usize = 50;
/// Keys that a template's variables must not use: both lists of the specification together, as it reserves one
/// where variables are defined and another where they are given.
pub const RESERVED_VARIABLE_KEYS: [&str; 7] =
    ["FIRST_NAME", "LAST_NAME", "EMAIL", "UNSUBSCRIBE_URL", "SERVICE_UNSUBSCRIBE_URL", "contact", "this"];
