//! Resolves every setting with its source: flag > environment > profile > `[defaults]` > built-in.
//!
//! A profile named by `--profile` is a flag: its own base URL and its account take precedence over those in the environment. A credential in the
//! environment belongs to the base URL in the environment, so it is never sent to the account of a profile that is named explicitly.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use idempost::types::RecipientGuard;
use url::Url;

use super::credential;
use super::env::{Env, parse_bool};
use super::file::{ConfigFile, Entry};
use super::keys::{self, ConfigKey};
use super::network::Network;
use super::paths;
use super::profiles::{self, DEFAULT};
use super::secrets;
use super::value::{ColorChoice, Credential, Form, ProgressStyle, Setting, Source, StoreKind};
use crate::diagnostics::{Diagnostic, Fail, Origin, Problem};

/// The settings of the recipient guard.
const GUARD: [&str; 2] = ["allow_to", "redirect_to"];

/// The settings given on the command line, as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    /// `--profile`.
    pub(crate) profile: Option<String>,
    /// Whether to accept a new profile.
    pub(crate) makes_profile: bool,
    /// `--api-key-file`.
    pub(crate) api_key_file: Option<String>,
    /// The flags that override a setting, by its name.
    pub(crate) values: Vec<(&'static str, String)>,
}

/// All settings, resolved.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The active profile, if any.
    pub(crate) profile: Option<Setting<String>>,
    /// The base URL; commands that need it report how to set it.
    pub(crate) base_url: Option<Setting<Url>>,
    /// A file of certificate authorities to trust.
    pub(crate) cacert: Option<Setting<PathBuf>>,
    /// A file with the client's certificate and its key.
    pub(crate) client_cert: Option<Setting<PathBuf>>,
    pub(crate) proxy: Option<Setting<Url>>,
    /// The given credential, if it applies.
    pub(crate) credential: Option<Setting<Credential>>,
    /// The credential in the environment that doesn't apply.
    pub(crate) passed_over: Option<IgnoredCredential>,
    /// The OAuth client ID.
    pub(crate) client_id: Option<Setting<String>>,
    /// The OAuth authorization server for logins.
    pub(crate) issuer: Option<Setting<Url>>,
    /// Whether its endpoints may be at other origins.
    pub(crate) trust_endpoints: Option<Setting<bool>>,
    /// The OAuth scope for logins.
    pub(crate) scope: Option<Setting<String>>,
    /// The credential store.
    pub(crate) store: Option<Setting<StoreKind>>,
    /// The default sender.
    pub(crate) from: Option<Setting<String>>,
    /// The allowed recipients, from all sources.
    pub(crate) recipients: RecipientGuard,
    /// The output format.
    pub(crate) output: Setting<Form>,
    /// The timeout of a request including retries.
    pub(crate) timeout: Option<Setting<Duration>>,
    /// The maximum number of retries.
    pub(crate) retries: Setting<u32>,
    /// When to use color.
    pub(crate) color: Setting<ColorChoice>,
    /// The progress display.
    pub(crate) progress: Setting<ProgressStyle>,
    /// Never prompt.
    pub(crate) no_input: Setting<bool>,
    /// Whether shell completions request IDs from the service.
    pub(crate) complete_ids: Setting<bool>,
    /// Warnings about the settings.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The configuration file, if it exists.
    pub(crate) file: Option<ConfigFile>,
}

/// An ignored credential in the environment, because a profile with its own account is named explicitly.
#[derive(Debug, Clone)]
pub(crate) struct IgnoredCredential {
    /// The variable with the credential.
    pub(crate) variable: String,
    pub(crate) profile: Setting<String>,
}

impl Settings {
    /// The profile that a flag, the environment or the file selects.
    pub(crate) fn selected_profile(&self) -> Option<&str> {
        self.profile.as_ref().map(|profile| profile.value.as_str())
    }

    /// The profile that is used.
    pub(crate) fn profile_name(&self) -> &str {
        self.selected_profile().unwrap_or(DEFAULT)
    }

    /// The network settings.
    pub(crate) fn network(&self) -> Network {
        Network {
            cacert: self.cacert.as_ref().map(|cacert| cacert.value.clone()),
            client_cert: self.client_cert.as_ref().map(|client_cert| client_cert.value.clone()),
            proxy: self.proxy.as_ref().map(|proxy| proxy.value.clone()),
        }
    }
}

impl IgnoredCredential {
    /// Whether the environment also names a profile, which is ambiguous.
    pub(crate) fn is_ambiguous(&self) -> bool {
        matches!(self.profile.source, Source::Env(_))
    }
}

/// Flags, environment and file, before they are merged.
#[derive(Debug)]
pub(crate) struct Layers<'a> {
    flags: &'a Flags,
    env: &'a Env,
    file: Option<ConfigFile>,
    profile: Option<Setting<String>>,
    profile_origin: Option<Origin>,
}

/// Resolves all settings and reports all problems together.
pub(crate) fn load(flags: &Flags, env: &Env) -> Result<Settings, Fail> {
    let layers = Layers::read(flags, env)?;
    let missing = if flags.makes_profile { None } else { layers.missing_profile() };
    let faults = layers.file.as_ref().map(|file| file.faults.clone()).unwrap_or_default();
    let mut found: Vec<_> = faults.into_iter().chain(missing).collect();

    let text = |text: &str| Ok(text.to_owned());
    let path = |text: &str| Ok(PathBuf::from(text));
    let flag = |text: &str| parse_bool(text).ok_or_else(String::new);
    let settings = Settings {
        base_url: layers.parse("base_url", keys::base_url, &mut found),
        cacert: layers.parse("cacert", path, &mut found),
        client_cert: layers.parse("client_cert", path, &mut found),
        proxy: layers.parse("proxy", keys::parse_proxy, &mut found),
        from: layers.parse("from", text, &mut found),
        client_id: layers.parse("client_id", text, &mut found),
        issuer: layers.parse("issuer", keys::base_url, &mut found),
        scope: layers.parse("scope", text, &mut found),
        store: layers.parse("store", parse_enum, &mut found),
        recipients: layers.recipients(&mut found),
        output: layers.parse("output", parse_enum, &mut found).unwrap_or_default(),
        timeout: layers.parse("timeout", keys::parse_duration, &mut found),
        retries: layers.parse("retries", |text| keys::parse_count(text, 100), &mut found).unwrap_or_default(),
        color: layers.parse("color", parse_enum, &mut found).unwrap_or_default(),
        progress: layers.parse("progress", parse_enum, &mut found).unwrap_or_default(),
        no_input: layers.parse("no_input", flag, &mut found).unwrap_or_default(),
        trust_endpoints: layers.parse("trust_endpoints", flag, &mut found),
        complete_ids: layers.parse("complete_ids", flag, &mut found).unwrap_or_default(),
        credential: None,
        passed_over: None,
        warnings: Vec::new(),
        profile: layers.profile.clone(),
        file: layers.file.clone(),
    };
    if let Some(width) =
        env.get("IDEMPOST_FORCE_TTY").filter(|text| !text.parse().is_ok_and(|columns: usize| columns > 0))
    {
        let problem = Problem::new("", "type", "must be a number of columns above 0").with_value(width);
        found.push(Diagnostic { problem, origin: Some(Origin::env("IDEMPOST_FORCE_TTY")), hint: None });
    }
    let credential = match credential::find(flags.api_key_file.as_deref(), env) {
        Ok(credential) => credential,
        Err(problem) => {
            found.push(*problem);
            None
        }
    };
    let (credential, passed_over) = layers.choose_credential(credential);
    // A guard that isn't recognized would allow everything.
    let unknown = layers.file.as_ref().map(ConfigFile::unknown_settings).unwrap_or_default();
    let (guards, warnings): (Vec<_>, Vec<_>) = unknown.into_iter().partition(is_about_guard);
    found.extend(guards);
    if !found.is_empty() {
        return Err(found.into());
    }
    Ok(Settings { credential, passed_over, warnings, ..settings })
}

impl<'a> Layers<'a> {
    /// Reads the file and determines the active profile.
    pub(crate) fn read(flags: &'a Flags, env: &'a Env) -> Result<Self, Fail> {
        let file =
            paths::config_file(env)?.map(|path| ConfigFile::read_with_faults(&path)).transpose()?.flatten();
        Ok(Self::new(flags, env, file))
    }

    /// Determines the active profile, with a file already read.
    pub(crate) fn new(flags: &'a Flags, env: &'a Env, file: Option<ConfigFile>) -> Self {
        let named = if let Some(name) = &flags.profile {
            let source = Source::Flag("--profile".to_owned());
            Some((Setting { value: name.clone(), source }, Origin::flag("--profile", name)))
        } else if let Some(name) = env.lossy("IDEMPOST_PROFILE") {
            let source = Source::Env("IDEMPOST_PROFILE".to_owned());
            Some((Setting { value: name, source }, Origin::env("IDEMPOST_PROFILE")))
        } else {
            file.as_ref().and_then(|file| Some(file_setting(file, file.default_profile()?)))
        };
        let (profile, profile_origin) = named.unzip();
        Self { flags, env, file, profile, profile_origin }
    }

    /// The effective text of a setting, its source, and the origin for errors.
    pub(crate) fn text(&self, key: &ConfigKey) -> Option<(Setting<String>, Option<Origin>)> {
        let mut sources = self.sources(key);
        if key.name == "base_url" && self.has_own_base_url() {
            sources.retain(|(setting, _)| !matches!(setting.source, Source::Env(_)));
        }
        if let Some((setting, origin)) = sources.into_iter().next() {
            return Some((setting, Some(origin)));
        }
        let value = key.default?.to_owned();
        Some((Setting { value, source: Source::BuiltIn }, None))
    }

    /// The combined guard of flags, environment, profile and `[defaults]`: each must allow a recipient.
    fn recipients(&self, found: &mut Vec<Diagnostic>) -> RecipientGuard {
        let mut guard = RecipientGuard::new();
        for key in GUARD.iter().filter_map(|name| keys::find(name)) {
            for (setting, origin) in self.sources(key) {
                match key.kind.narrow(guard.clone(), &setting.value) {
                    Ok(narrowed) => guard = narrowed,
                    Err(rule) => {
                        let problem = Problem::new("", "setting", format!("{} {rule}", key.name));
                        let problem = problem.with_value(setting.value);
                        found.push(Diagnostic { problem, origin: Some(origin), hint: None });
                    }
                }
            }
        }
        guard
    }

    /// The text of a setting in each of its sources, in the order of precedence.
    fn sources(&self, key: &ConfigKey) -> Vec<(Setting<String>, Origin)> {
        let mut found = Vec::new();
        if let Some((_, text)) = self.flags.values.iter().find(|(name, _)| *name == key.name) {
            let flag = key.flag.unwrap_or(key.name);
            let setting = Setting { value: text.clone(), source: Source::Flag(flag.to_owned()) };
            found.push((setting, Origin::flag(flag, secrets::mask_user_info(text))));
        }
        if let Some((name, text)) = key.env.and_then(|name| Some((name, self.env.raw(name)?))) {
            let value = text.to_string_lossy().into_owned();
            found.push((Setting { value, source: Source::Env(name.to_owned()) }, Origin::env(name)));
        }
        if let Some(file) = &self.file {
            let profile = self.profile.as_ref().map_or(DEFAULT, |profile| profile.value.as_str());
            let entries = [Some(profile), None].into_iter().filter_map(|table| file.get(table, key.name));
            found.extend(entries.map(|entry| {
                let (mut setting, origin) = file_setting(file, entry);
                if matches!(key.kind, keys::Kind::Path) && !setting.value.is_empty() {
                    setting.value = file.path.with_file_name(setting.value).to_string_lossy().into_owned();
                }
                (setting, origin)
            }));
        }
        found
    }

    /// The effective text of a setting; for the recipient guard, of each source.
    pub(crate) fn effective(&self, key: &ConfigKey) -> Vec<Setting<String>> {
        if GUARD.contains(&key.name) {
            return self.sources(key).into_iter().map(|(setting, _)| setting).collect();
        }
        self.text(key).map(|(setting, _)| setting).into_iter().collect()
    }

    /// Whether the file has the base URL of the account of the profile that `--profile` names. It takes precedence over the environment's.
    fn has_own_base_url(&self) -> bool {
        let (Some(file), Some(Setting { value, source: Source::Flag(_) })) = (&self.file, &self.profile)
        else {
            return false;
        };
        let has = |table| file.get(table, "base_url").is_some();
        has(Some(value)) || has(None) && self.has_account(value)
    }

    /// Ignores a credential in the environment if a profile with its own account is named explicitly.
    fn choose_credential(
        &self,
        given: Option<Setting<Credential>>,
    ) -> (Option<Setting<Credential>>, Option<IgnoredCredential>) {
        let (Some(Setting { source: Source::Env(variable), .. }), Some(profile)) = (&given, &self.profile)
        else {
            return (given, None);
        };
        if matches!(profile.source, Source::File { .. }) || !self.has_account(&profile.value) {
            return (given, None);
        }
        let passed_over = IgnoredCredential { variable: variable.clone(), profile: profile.clone() };
        (None, Some(passed_over))
    }

    /// Whether a profile has its own base URL or credentials.
    fn has_account(&self, profile: &str) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|file| file.get(Some(profile), "base_url").is_some())
            || profiles::names(None, self.env).iter().any(|name| name == profile)
    }

    fn parse<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Result<T, String>,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Setting<T>> {
        let key = keys::find(name)?;
        let (text, origin) = self.text(key)?;
        let checked = match (&text.source, key.kind) {
            // A variable is private enough for a password.
            (Source::Env(_), keys::Kind::Proxy) => Ok(()),
            (_, kind) => kind.check(&text.value),
        };
        let checked = checked.and_then(|()| read(&text.value));
        match checked {
            Ok(value) => Some(Setting { value, source: text.source }),
            Err(rule) => {
                // An invalid URL may contain a password, so it isn't repeated.
                let problem = Problem::new("", "setting", format!("{name} {rule}"));
                let is_url = matches!(key.kind, keys::Kind::BaseUrl | keys::Kind::Proxy);
                let problem = if is_url { problem } else { problem.with_value(&text.value) };
                found.push(Diagnostic { problem, origin, hint: None });
                None
            }
        }
    }

    /// The error for a named profile that doesn't exist.
    pub(crate) fn missing_profile(&self) -> Option<Diagnostic> {
        let name = &self.profile.as_ref()?.value;
        if name == DEFAULT || self.file.as_ref().is_some_and(|file| file.profiles().contains(&name.as_str()))
        {
            return None;
        }
        let profiles = profiles::names(self.file.as_ref(), self.env);
        if profiles.contains(name) {
            return None;
        }
        if name.is_empty() {
            let rule = "the profile's name must not be empty";
            return Some(Diagnostic::new("required", rule, self.profile_origin.clone()));
        }
        let rule = match keys::most_similar(name, profiles.iter().map(String::as_str)) {
            Some(meant) => format!("there is no profile `{name}`; did you mean `{meant}`?"),
            None if profiles.is_empty() => {
                format!("there is no profile `{name}`: no profile is configured or has credentials")
            }
            None => format!("there is no profile `{name}`; existing profiles: {}", profiles.join(", ")),
        };
        let hint = format!("idempost --profile {name} config set base_url https://…");
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let hint = is_plain.then_some(hint);
        Some(Diagnostic { hint, ..Diagnostic::new("unknown", rule, self.profile_origin.clone()) })
    }
}

/// A value in the file, with its source.
fn file_setting(file: &ConfigFile, entry: Entry) -> (Setting<String>, Origin) {
    let source = Source::File { path: file.path.clone(), line: file.line(entry.span.start) };
    (Setting { value: entry.text, source }, file.origin(entry.span))
}

/// Whether an unknown setting is probably a misspelled one of the guard.
fn is_about_guard(unknown: &Diagnostic) -> bool {
    let text = format!("{} {}", unknown.problem.message, unknown.hint.as_deref().unwrap_or_default());
    GUARD.iter().any(|name| text.to_lowercase().replace('-', "_").contains(name))
}

/// Parses a word of an enumeration.
fn parse_enum<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::file::tests::problems;

    const FILE: &str = "default_profile = \"work\"\n[defaults]\nretries = 5\noutput = \"tsv\"\n[profiles.work]\nretries = 6\n\
                        base_url = \"https://work.example.com\"\n[profiles.local]\nbase_url = \"http://127.0.0.1:4010\"\n";

    fn retries(flags: &Flags, env: &[(&str, &str)], file: &str) -> (String, String) {
        let env = Env::from_pairs(env);
        let file = ConfigFile::parse(Path::new("c.toml"), file).unwrap();
        let layers = Layers::new(flags, &env, Some(file));
        let (setting, _) = layers.text(keys::find("retries").unwrap()).unwrap();
        (setting.value, setting.source.to_string())
    }

    fn load_with(flags: &Flags, env: &[(&str, &str)], text: &str) -> Result<Settings, Fail> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.toml"), text).unwrap();
        let mut env = env.to_vec();
        env.push(("IDEMPOST_CONFIG_DIR", folder.path().to_str().unwrap()));
        load(flags, &Env::from_pairs(&env))
    }

    #[test]
    fn flag_beats_environment_beats_profile_beats_defaults_beats_built_in() {
        let flags = Flags { values: vec![("retries", "9".to_owned())], ..Flags::default() };
        let env = [("IDEMPOST_RETRIES", "8")];
        let pair = |value: &str, source: &str| (value.to_owned(), source.to_owned());
        assert_eq!(retries(&flags, &env, FILE), pair("9", "--retries"));
        assert_eq!(retries(&Flags::default(), &env, FILE), pair("8", "IDEMPOST_RETRIES"));
        assert_eq!(retries(&Flags::default(), &[("IDEMPOST_RETRIES", "")], FILE), pair("6", "c.toml:6"));
        let local = Flags { profile: Some("local".to_owned()), ..Flags::default() };
        assert_eq!(retries(&local, &[], FILE), pair("5", "c.toml:3"));
        assert_eq!(retries(&Flags::default(), &[], ""), pair("3", "built-in"));
    }

    #[test]
    fn the_profile_is_chosen_by_flag_then_environment_then_file() {
        let flags = Flags { profile: Some("local".to_owned()), ..Flags::default() };
        let settings = load_with(&flags, &[("IDEMPOST_PROFILE", "work")], FILE).unwrap();
        assert_eq!(settings.base_url.unwrap().value.as_str(), "http://127.0.0.1:4010/");
        let settings = load_with(&Flags::default(), &[("IDEMPOST_PROFILE", "local")], FILE).unwrap();
        assert_eq!(settings.profile.unwrap().source, Source::Env("IDEMPOST_PROFILE".to_owned()));
        let settings = load_with(&Flags::default(), &[], FILE).unwrap();
        assert_eq!((settings.retries.value, settings.output.value), (6, Form::Tsv));
    }

    #[test]
    fn a_credential_in_the_environment_never_goes_to_a_named_profile() {
        //
        let named = |profile: &str| Flags { profile: Some(profile.to_owned()), ..Flags::default() };
        let key = ("IDEMPOST_API_KEY", "sb_hidden");
        let url = ("IDEMPOST_BASE_URL", "https://environment.example.com");
        let by_flag = load_with(&named("work"), &[key, url], FILE).unwrap();
        assert_eq!(by_flag.base_url.unwrap().value.as_str(), "https://work.example.com/");
        assert!(by_flag.credential.is_none() && !by_flag.passed_over.unwrap().is_ambiguous());
        let by_variable = load_with(&Flags::default(), &[key, ("IDEMPOST_PROFILE", "work")], FILE).unwrap();
        assert!(by_variable.credential.is_none() && by_variable.passed_over.unwrap().is_ambiguous());
        // By the default profile, and by a profile without an account.
        let by_default = load_with(&Flags::default(), &[key, url], FILE).unwrap();
        assert_eq!(by_default.base_url.unwrap().value.as_str(), "https://environment.example.com/");
        assert!(by_default.credential.is_some() && by_default.passed_over.is_none());
        let plain = load_with(&named("plain"), &[key, url], "[profiles.plain]\nretries = 1\n").unwrap();
        assert!(plain.credential.is_some() && plain.passed_over.is_none());
    }

    #[test]
    fn an_unknown_profile_is_refused_with_the_existing_ones() {
        let flags = Flags { profile: Some("wrok".to_owned()), ..Flags::default() };
        let found = problems(load_with(&flags, &[], FILE).unwrap_err());
        assert_eq!(found[0].problem.message, "there is no profile `wrok`; did you mean `work`?");
    }

    #[test]
    fn every_invalid_setting_is_reported_at_once_with_its_origin() {
        let env = [("IDEMPOST_TIMEOUT", "0"), ("IDEMPOST_NO_INPUT", "maybe"), ("IDEMPOST_FORCE_TTY", "wide")];
        let flags =
            Flags { values: vec![("base_url", "http://:hunter2@x.test".to_owned())], ..Flags::default() };
        let found = problems(load_with(&flags, &env, "[defaults]\noutput = \"xml\"\n").unwrap_err());
        assert_eq!(found.len(), 5, "{found:?}");
        assert!(matches!(&found[0].origin, Some(Origin::Flag { name, .. }) if name == "--base-url"));
        assert!(matches!(&found[1].origin, Some(Origin::Config { .. })));
        assert_eq!(found[3].origin, Some(Origin::env("IDEMPOST_NO_INPUT")));
        assert!(!found[0].problem.to_string().contains("hunter2"));
    }
}
