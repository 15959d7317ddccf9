//! The flags that every command takes, before or after its name.

use crate::input::flags::Choices;
use crate::output::Wishes;
use crate::settings::env::Env;
use crate::settings::{ColorChoice, Flags, Form};

/// The flags that every command takes, before or after its name.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Global {
    /// Profile of the configuration file
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Address of the service: https, or http for this machine
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// File that holds the API key; - is standard input
    ///
    /// One line end after the key is not part of it. There is no flag for the key itself: other users of the machine can
    /// read a command line.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) api_key_file: Option<String>,
    /// Use a sandbox of this command's own: no account, no network
    ///
    /// The service runs inside this program for as long as the command does. Emails go nowhere; on standard error it says
    /// what would have left.
    #[cfg(feature = "sandbox")]
    #[arg(long, global = true)]
    pub(crate) sandbox: bool,
    /// Form of results: human, json, ndjson or tsv
    #[arg(short, long, global = true, value_name = "FORM", value_parser = Choices(&["human", "json", "ndjson", "tsv"]), hide_possible_values = true)]
    pub(crate) output: Option<String>,
    /// Results as JSON; with =FIELDS only those, separated by commas
    #[arg(long, global = true, value_name = "FIELDS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) json: Option<String>,
    /// Filter the JSON with an expression of the jq language
    #[arg(long, global = true, value_name = "EXPR")]
    pub(crate) jq: Option<String>,
    /// Columns of a list, separated by commas
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// No notes and no progress; errors stay
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say more: once requests and causes, twice headers, three times bodies
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to colour: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", value_parser = Choices(&["auto", "always", "never"]), hide_possible_values = true)]
    pub(crate) color: Option<String>,
    /// Never show a long table in a pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// Never ask anything
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Answer yes where a question would be asked
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
    /// Limit of the whole call, with its retries: 30s, 2m
    #[arg(long, global = true, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    /// Further attempts where repeating does no harm
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true)]
    pub(crate) retries: Option<String>,
    /// Progress of an upload: auto, plain, json or none
    #[arg(long, global = true, value_name = "HOW", value_parser = Choices(&["auto", "plain", "json", "none"]), hide_possible_values = true)]
    pub(crate) progress: Option<String>,
    /// Whether the profile need not exist yet: the command makes it.
    #[arg(skip)]
    pub(crate) makes_profile: bool,
}

impl Global {
    /// Whether the command brings its own service.
    #[cfg(feature = "sandbox")]
    pub(crate) fn has_sandbox(&self) -> bool {
        self.sandbox
    }

    /// Whether the command brings its own service; never, without the feature.
    #[cfg(not(feature = "sandbox"))]
    #[expect(clippy::unused_self, reason = "asked in the same way with the feature")]
    pub(crate) fn has_sandbox(&self) -> bool {
        false
    }

    /// The flags that stand for settings.
    pub(crate) fn flags(&self) -> Flags {
        let json = self.json.is_some().then(|| "json".to_owned());
        let no_input = self.no_input.then(|| "true".to_owned());
        let values = [
            ("base_url", self.base_url.clone()),
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

    /// The flags about output; the form is decided with the other settings.
    pub(crate) fn wishes(&self, form: Form) -> Wishes {
        let fields = self.json.iter().flat_map(|fields| fields.split(',')).map(str::trim);
        Wishes {
            form,
            fields: fields.filter(|field| !field.is_empty()).map(str::to_owned).collect(),
            jq: self.jq.clone(),
            columns: self.columns.clone(),
            quiet: self.quiet,
            pager: None,
            tsv_by_flag: self.output.as_deref() == Some("tsv"),
        }
    }

    /// The form that the flags or the environment ask for, as far as it makes sense.
    pub(crate) fn form_choice(&self, env: &Env) -> Option<Form> {
        let json = self.json.is_some().then_some("json");
        let word = self.output.as_deref().or(json).or_else(|| env.get("POSTHASTE_OUTPUT"))?;
        clap::ValueEnum::from_str(word, false).ok()
    }

    /// The colour that the flag asks for, as far as it makes sense.
    pub(crate) fn color_choice(&self) -> Option<ColorChoice> {
        clap::ValueEnum::from_str(self.color.as_deref()?, false).ok()
    }
}
