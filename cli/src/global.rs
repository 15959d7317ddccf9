//! The global flags, accepted before or after the command.

use crate::input::flags::Choices;
use crate::output::OutputOptions;
use crate::settings::env::Env;
use crate::settings::{ColorChoice, Flags, Form};

/// The global flags, accepted before or after the command.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Global {
    /// Profile from the configuration file
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Base URL of the service: https, or http for this machine
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Also trust the certificate authorities in a PEM file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) cacert: Option<String>,
    /// Client certificate with its private key, in one PEM file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) client_cert: Option<String>,
    /// Proxy: http, https or socks5; put a password in IDEMPOST_PROXY
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// File with the API key; - reads standard input
    ///
    /// A trailing line ending is ignored. There is no flag for the key itself because other users of the machine can see
    /// command lines.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) api_key_file: Option<String>,
    /// Use a temporary sandbox: no account, no network
    ///
    /// The service runs inside this program while the command runs. Emails are captured instead of delivered, and listed on
    /// standard error.
    #[cfg_attr(feature = "sandbox", arg(long, global = true))]
    #[cfg_attr(not(feature = "sandbox"), arg(skip))]
    pub(crate) sandbox: bool,
    /// Output format: human, json, ndjson or tsv
    #[arg(short, long, global = true, value_name = "FORMAT", value_parser = Choices(&["human", "json", "ndjson", "tsv"]), hide_possible_values = true)]
    pub(crate) output: Option<String>,
    /// Print JSON; with =FIELDS only those fields, comma-separated
    #[arg(long, global = true, value_name = "FIELDS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) json: Option<String>,
    /// Filter the JSON with a jq expression
    #[arg(long, global = true, value_name = "EXPR")]
    pub(crate) jq: Option<String>,
    /// Columns of a list, comma-separated
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Suppress notes and progress; errors are still shown
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Increase verbosity: -v requests and causes, -vv headers, -vvv bodies
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to use color: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", value_parser = Choices(&["auto", "always", "never"]), hide_possible_values = true)]
    pub(crate) color: Option<String>,
    /// Never use a pager for long tables
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// Never prompt
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Answer yes to all prompts
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
    /// Send only to these recipients: an address, or *@DOMAIN; repeatable
    ///
    /// Requests with other recipients are rejected before anything is sent. IDEMPOST_ALLOW_TO and the configuration file can contain such lists
    /// too; each of them must allow the recipient.
    #[arg(long, global = true, value_name = "PATTERN")]
    pub(crate) allow_to: Vec<String>,
    /// Send everything to this address instead; repeatable
    ///
    /// The original recipients are kept in the headers X-Original-To, X-Original-Cc and X-Original-Bcc, and the first one in the subject.
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) redirect_to: Vec<String>,
    /// Timeout for a request including retries, such as 30s or 2m
    #[arg(long, global = true, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    /// Maximum number of retries, where retrying is safe
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true)]
    pub(crate) retries: Option<String>,
    /// Upload progress: auto, plain, json or none
    #[arg(long, global = true, value_name = "STYLE", value_parser = Choices(&["auto", "plain", "json", "none"]), hide_possible_values = true)]
    pub(crate) progress: Option<String>,
    /// Whether the command accepts a new profile.
    #[arg(skip)]
    pub(crate) makes_profile: bool,
    /// An alias that selects the account, with its command line.
    #[arg(skip)]
    pub(crate) alias: Option<String>,
}

impl Global {
    /// The flags that override settings.
    pub(crate) fn flags(&self) -> Flags {
        let json = self.json.is_some().then(|| "json".to_owned());
        let no_input = self.no_input.then(|| "true".to_owned());
        let list = |values: &[String]| (!values.is_empty()).then(|| values.join(","));
        let values = [
            ("allow_to", list(&self.allow_to)),
            ("redirect_to", list(&self.redirect_to)),
            ("base_url", self.base_url.clone()),
            ("cacert", self.cacert.clone()),
            ("client_cert", self.client_cert.clone()),
            ("proxy", self.proxy.clone()),
            ("output", self.output.clone().or(json)),
            ("timeout", self.timeout.clone()),
            ("retries", self.retries.clone()),
            ("color", self.color.clone()),
            ("progress", self.progress.clone()),
            ("no_input", no_input),
        ];
        Flags {
            profile: self.profile.clone(),
            makes_profile: self.makes_profile,
            api_key_file: self.api_key_file.clone(),
            values: values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect(),
        }
    }

    /// The output flags; the format is resolved with the other settings.
    pub(crate) fn options(&self, form: Form) -> OutputOptions {
        let fields = self.json.iter().flat_map(|fields| fields.split(',')).map(str::trim);
        OutputOptions {
            form,
            fields: fields.filter(|field| !field.is_empty()).map(str::to_owned).collect(),
            jq: self.jq.clone(),
            columns: self.columns.clone(),
            quiet: self.quiet,
            pager: None,
            tsv_by_flag: self.output.as_deref() == Some("tsv"),
            json_by_flag: self.json.is_some(),
        }
    }

    /// The format set by flags or environment, if valid.
    pub(crate) fn form_choice(&self, env: &Env) -> Option<Form> {
        let json = self.json.is_some().then_some("json");
        let word = self.output.as_deref().or(json).or_else(|| env.get("IDEMPOST_OUTPUT"))?;
        clap::ValueEnum::from_str(word, false).ok()
    }

    /// The color choice set by the flag, if valid.
    pub(crate) fn color_choice(&self) -> Option<ColorChoice> {
        clap::ValueEnum::from_str(self.color.as_deref()?, false).ok()
    }
}
