//! The limits in `docs/specification.md`, in its units.

/// The number of problems listed for one input; further problems are only counted.
pub const PROBLEMS_LISTED: usize = 1_000;
/// The maximum number of steps of an automation; the minimum is 1.
pub const STEPS_PER_AUTOMATION: usize = 150;
/// The maximum number of emails in a batch.
pub const EMAILS_PER_BATCH: usize = 100;
/// The maximum number of entries in a suppression list batch. The specification doesn't define the list.
pub const SUPPRESSIONS_PER_BATCH: usize = 100;
/// The maximum number of IDs in each metrics filter. The specification doesn't define metrics.
pub const IDS_PER_METRICS_FILTER: usize = 100;
/// The maximum size of a contact import's file, in bytes. The specification doesn't define imports.
pub const IMPORT_FILE_BYTES: u64 = 200_000_000;
/// The limits of inboxes, which are in beta. The specification doesn't define inboxes.
#[cfg(feature = "beta")]
pub use inboxes::*;

#[cfg(feature = "beta")]
mod inboxes {
    /// The maximum length of an inbox's or a label's name, in characters.
    pub const INBOX_NAME_CHARS: usize = 64;
    /// The maximum length of an inbox's sender name, in characters.
    pub const INBOX_FROM_NAME_CHARS: usize = 78;
    /// The maximum length of an agent's instructions, in characters.
    pub const INBOX_INSTRUCTIONS_CHARS: usize = 4_000;
    /// The maximum length of a draft's subject, in characters.
    pub const INBOX_SUBJECT_CHARS: usize = 2_000;
    /// The maximum number of addresses in `to`, `cc` and `bcc` of an email sent from an inbox.
    pub const INBOX_RECIPIENTS: usize = 50;
    /// The maximum number of attachments of an email sent from an inbox.
    pub const INBOX_ATTACHMENTS: usize = 10;
    /// The maximum size of these attachments, in bytes: the larger reading of "25 MB".
    pub const INBOX_ATTACHMENT_BYTES: u64 = 25 << 20;
}
/// The maximum number of addresses in `to`. The specification doesn't limit `cc` and `bcc`.
pub const RECIPIENTS_IN_TO: usize = 50;
/// The maximum total size of an email's attachments after Base64, in bytes. The specification says "40 MB" without defining the unit; this is the
/// larger reading (40 MiB), so that nothing the service accepts is rejected here.
pub const ATTACHMENTS_ENCODED_BYTES: u64 = 40 * 1024 * 1024;
/// The smaller reading of "40 MB" (40,000,000 bytes), above which a warning is issued.
pub const ATTACHMENTS_ENCODED_BYTES_ADVISED: u64 = 40_000_000;
/// The maximum lifetime of a public link to an email, in seconds: 48 hours. The specification doesn't define such links.
pub const SHARE_SECONDS: u64 = 48 * 60 * 60;
/// The maximum length of an `Idempotency-Key`, in characters; the minimum is 1.
pub const IDEMPOTENCY_KEY_CHARS: usize = 256;
/// How long the service remembers an `Idempotency-Key`, in seconds: 24 hours.
pub const IDEMPOTENCY_KEY_SECONDS: u64 = 24 * 60 * 60;
/// The number of tags above which a warning is issued. The specification sets no limit.
pub const TAGS_ADVISED: usize = 75;
/// How far ahead an email can be scheduled without a warning, in seconds: 30 days. The specification sets no limit.
pub const SCHEDULE_SECONDS_ADVISED: u64 = 30 * 24 * 60 * 60;
/// The attachment file extensions that cause a warning, since Resend rejects them. The specification doesn't mention them.
pub const REJECTED_ATTACHMENT_EXTENSIONS: [&str; 89] = [
    "adp", "app", "asp", "bas", "bat", "cer", "chm", "cmd", "com", "cpl", "crt", "csh", "der", "exe", "fxp",
    "gadget", "hlp", "hta", "inf", "ins", "isp", "its", "js", "jse", "ksh", "lib", "lnk", "mad", "maf",
    "mag", "mam", "maq", "mar", "mas", "mat", "mau", "mav", "maw", "mda", "mdb", "mde", "mdt", "mdw", "mdz",
    "msc", "msh", "msh1", "msh2", "mshxml", "msh1xml", "msh2xml", "msi", "msp", "mst", "ops", "pcd", "pif",
    "plg", "prf", "prg", "reg", "scf", "scr", "sct", "shb", "shs", "sys", "ps1", "ps1xml", "ps2", "ps2xml",
    "psc1", "psc2", "tmp", "url", "vb", "vbe", "vbs", "vps", "vsmacros", "vss", "vst", "vsw", "vxd", "ws",
    "wsc", "wsf", "wsh", "xnk",
];
/// The maximum length of a tag's name and of its value, in characters.
pub const TAG_CHARS: usize = 256;
/// The maximum length of a template variable's key when sending, in characters.
pub const VARIABLE_KEY_CHARS: usize = 50;
/// The maximum length of a template variable's string value when sending, in characters (Unicode scalar values).
pub const VARIABLE_VALUE_CHARS: usize = 2_000;
/// The maximum numeric value of a template variable: 2^53 − 1. The specification states no minimum.
pub const VARIABLE_VALUE_MAX: u64 = (1 << 53) - 1;
/// The maximum page size of a list; the minimum is 1.
pub const PAGE_SIZE_MAX: u8 = 100;
/// The default page size of a mode A list.
pub const PAGE_SIZE_DEFAULT: u8 = 20;
/// The maximum length of a topic's name, in characters.
pub const TOPIC_NAME_CHARS: usize = 50;
/// The maximum length of a topic's description, in characters.
pub const TOPIC_DESCRIPTION_CHARS: usize = 200;
/// The maximum number of variables of a template.
pub const VARIABLES_PER_TEMPLATE: usize = 50;
/// Reserved keys of template variables: the union of the specification's two lists, one for defining variables and one for setting them, and Resend's
/// own name of the unsubscribe link.
pub const RESERVED_VARIABLE_KEYS: [&str; 8] = [
    "FIRST_NAME",
    "LAST_NAME",
    "EMAIL",
    "UNSUBSCRIBE_URL",
    "SERVICE_UNSUBSCRIBE_URL",
    "RESEND_UNSUBSCRIBE_URL",
    "contact",
    "this",
];
