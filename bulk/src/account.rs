//! The account that a job belongs to.
//!
//! # Why a job is never continued from another account
//!
//! An idempotency key is only valid within one account, so from another account every request would be new: the rows in flight would be sent twice,
//! and one account's recipients would receive another account's emails. The first process to send therefore binds the job to its account before the
//! first request, and every later process has to use the same account. A distributed job stores its account in the queue, where workers check it
//! before they take a batch.
//!
//! The record contains no credentials, only their hashes, keyed with the job's random salt.

use idempost::Client;
use serde::{Deserialize, Serialize};

/// The account that sends a job, for [`RunOptions::account`](crate::RunOptions::account) and its siblings.
///
/// By default, the client's credential identifies the account (see [`Client::account_fingerprint`]). Another login counts as the same account if its
/// access tokens have the same subject; another API key counts as a different account.
///
/// ```
/// # use idempost_bulk::{Account, RunOptions};
/// // The API key was replaced.
/// let options = RunOptions::default().account(Account::new().profile("work").assume_same_account());
/// // An application with a name of its own for each account.
/// let options = RunOptions::default().account(Account::new().id("customer-17"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    profile: Option<String>,
    id: Option<String>,
    same: bool,
}

impl Account {
    /// The account of the client's credential.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the name of the profile that holds the credential, for messages.
        profile;
        /// Identifies the account by an application-defined ID instead of the credential, which may then change. Only a hash of the ID is stored.
        id;
        /// Asserts that the credential belongs to the job's account although it differs from the one the job was started with: the API key was replaced,
        /// or each worker has its own. From then on, the job accepts both. If the assertion is wrong, recipients receive emails from another account, and
        /// some receive them twice. The base URL still has to match.
        assume_same_account = true => same;
    }
}

/// A client's account, comparable with a job's.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    client: Client,
    account: Account,
}

/// A client's account, hashed with a job's salt.
#[derive(Clone, Debug)]
pub(crate) struct Presented {
    base_url: String,
    credential: Option<AcceptedCredential>,
    profile: Option<String>,
    same: bool,
}

/// The account that a job belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobAccount {
    /// The base URL of the service.
    pub base_url: String,
    /// The key of the hashes: 32 hexadecimal digits, random for each job.
    pub salt: String,
    /// The credentials that the job accepts, the original one first.
    pub credentials: Vec<AcceptedCredential>,
}

/// A credential of a job's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedCredential {
    /// The name of its profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The hash that identifies it: 32 hexadecimal digits.
    pub fingerprint: String,
}

/// The job belongs to a different account than the client, or the client's account can't be determined. Nothing was sent or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// The client has another base URL.
    #[error("the job belongs to {owner}, but this command uses {given}; nothing was sent")]
    OtherService {
        /// The profile and the base URL of the job.
        owner: String,
        /// The profile and the base URL of the client.
        given: String,
    },
    /// The client has another credential. If it belongs to the same account, assert that with [`Account::assume_same_account`].
    #[error("the job belongs to {owner}, but this command uses {given}; nothing was sent")]
    OtherAccount {
        /// The profile, the base URL and the start of the fingerprint of the job's credential.
        owner: String,
        /// The profile, the base URL and the start of the fingerprint of the client's credential.
        given: String,
    },
    /// The access token has no subject, so it doesn't identify its account. Set [`Account::id`] instead.
    #[error("the access token doesn't identify its account: it has no `sub` claim; nothing was sent")]
    Unidentified,
    /// The job was started, but the file that records its account is missing. [`Account::assume_same_account`] asserts that the client uses the right one.
    #[error("the job was started, but {file} is missing, so its account is unknown; nothing was sent")]
    Missing {
        /// The file.
        file: String,
    },
}

impl Sending {
    pub(crate) fn new(client: &Client, account: Account) -> Self {
        Self { client: client.clone(), account }
    }

    /// Returns the account, hashed with this salt.
    pub(crate) async fn present(&self, salt: &str) -> idempost::Result<Presented> {
        let fingerprint = match &self.account.id {
            Some(id) => Some(fingerprint_of_id(salt, id)),
            None => self.client.account_fingerprint(salt.as_bytes()).await?,
        };
        let Account { profile, same, .. } = self.account.clone();
        let credential =
            fingerprint.map(|fingerprint| AcceptedCredential { profile: profile.clone(), fingerprint });
        Ok(Presented { base_url: self.client.base_url().to_string(), credential, profile, same })
    }

    #[cfg(feature = "nats")]
    pub(crate) fn recipient_guard(&self) -> &idempost::types::RecipientGuard {
        self.client.recipient_guard()
    }

    pub(crate) fn affirms_same_account(&self) -> bool {
        self.account.same
    }

    /// Checks the base URL that the job was planned for.
    pub(crate) fn check_service(&self, planned: &str, profile: Option<&str>) -> Result<(), AccountError> {
        check_service((planned, profile), (self.client.base_url().as_str(), self.account.profile.as_deref()))
    }
}

/// Checks that a job's service is the given one. A service is a base URL and, for messages, the name of a profile.
pub(crate) fn check_service(
    owner: (&str, Option<&str>),
    given: (&str, Option<&str>),
) -> Result<(), AccountError> {
    if owner.0 == given.0 {
        return Ok(());
    }
    let describe = |(base_url, profile)| describe(profile, base_url, None);
    Err(AccountError::OtherService { owner: describe(owner), given: describe(given) })
}

fn fingerprint_of_id(salt: &str, id: &str) -> String {
    let key = blake3::derive_key("idempost bulk 2026 account id", salt.as_bytes());
    blake3::keyed_hash(&key, id.as_bytes()).to_hex()[..32].to_owned()
}

impl Presented {
    /// Names the rate limit that the jobs of the account share.
    #[cfg(feature = "nats")]
    pub(crate) fn rate_scope(&self) -> Result<String, AccountError> {
        let name = format!("{}\n{}", self.base_url, self.credential()?.fingerprint);
        Ok(blake3::hash(name.as_bytes()).to_hex()[..16].to_owned())
    }

    fn credential(&self) -> Result<&AcceptedCredential, AccountError> {
        self.credential.as_ref().ok_or(AccountError::Unidentified)
    }
}

impl JobAccount {
    /// Creates a random salt.
    pub(crate) fn random_salt() -> String {
        format!("{:032x}", rand::random::<u128>())
    }

    /// Creates the record for the first process that sends the job, from its account as hashed with this salt.
    pub(crate) fn new(presented: &Presented, salt: String) -> Result<Self, AccountError> {
        let credential = presented.credential()?.clone();
        Ok(Self { base_url: presented.base_url.clone(), salt, credentials: vec![credential] })
    }

    /// Checks that the account is the job's. Returns an updated record if the credential is new to it.
    pub(crate) fn check(&self, presented: &Presented) -> Result<Option<Self>, AccountError> {
        let owner = self.credentials.first();
        let profile = owner.and_then(|owner| owner.profile.as_deref());
        check_service((&self.base_url, profile), (&presented.base_url, presented.profile.as_deref()))?;
        let given = presented.credential()?;
        if self.credentials.iter().any(|accepted| accepted.fingerprint == given.fingerprint) {
            return Ok(None);
        }
        if presented.same {
            let mut extended = self.clone();
            extended.credentials.push(given.clone());
            return Ok(Some(extended));
        }
        let fingerprint = owner.map(|owner| owner.fingerprint.as_str());
        Err(AccountError::OtherAccount {
            owner: describe(profile, &self.base_url, fingerprint),
            given: describe(presented.profile.as_deref(), &presented.base_url, Some(&given.fingerprint)),
        })
    }
}

/// Describes an account for messages.
fn describe(profile: Option<&str>, base_url: &str, fingerprint: Option<&str>) -> String {
    let owner = profile.map_or_else(|| "an account".to_owned(), |profile| format!("profile `{profile}`"));
    // Enough to tell credentials apart, too little to recover a short secret.
    let start = fingerprint.map(|fingerprint| fingerprint.get(..8).unwrap_or_default());
    let credential = start.map(|start| format!(" (credential {start})")).unwrap_or_default();
    format!("{owner} at {}{credential}", base_url.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn presented(base_url: &str, key: &str, account: Account) -> Presented {
        let client = Client::new(base_url, key).unwrap();
        Sending::new(&client, account).present("00ff").await.unwrap()
    }

    async fn job(account: Account) -> JobAccount {
        let first = presented("http://127.0.0.1:9", "re_first", account).await;
        JobAccount::new(&first, "00ff".to_owned()).unwrap()
    }

    #[tokio::test]
    async fn another_account_is_rejected_and_both_are_named() {
        // F-13, AUTH-08
        let job = job(Account::new().profile("work")).await;
        let given = presented("http://127.0.0.1:9", "re_other", Account::new().profile("home")).await;
        let error = job.check(&given).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("the job belongs to profile `work` at http://127.0.0.1:9 (credential "),
            "{text}"
        );
        assert!(
            text.contains("but this command uses profile `home` at http://127.0.0.1:9 (credential "),
            "{text}"
        );
        assert!(!text.contains("re_") && !serde_json::to_string(&job).unwrap().contains("re_"), "{text}");
        let first = presented("http://127.0.0.1:9", "re_first", Account::new().profile("home")).await;
        assert_eq!(job.check(&first), Ok(None), "the name of the profile doesn't matter");
    }

    #[tokio::test]
    async fn another_base_url_is_rejected_even_if_the_account_is_affirmed() {
        // F-13
        let job = job(Account::new()).await;
        let given = presented("http://127.0.0.1:8", "re_first", Account::new().assume_same_account()).await;
        assert!(matches!(job.check(&given), Err(AccountError::OtherService { .. })));
    }

    #[tokio::test]
    async fn an_affirmed_credential_is_added_to_the_job() {
        // F-13
        let job = job(Account::new()).await;
        let given = presented("http://127.0.0.1:9", "re_new", Account::new().assume_same_account()).await;
        let extended = job.check(&given).unwrap().unwrap();
        for key in ["re_first", "re_new"] {
            assert_eq!(extended.check(&presented("http://127.0.0.1:9", key, Account::new()).await), Ok(None));
        }
    }

    #[tokio::test]
    async fn an_id_identifies_the_account_whatever_its_credential() {
        // F-13
        let job = job(Account::new().id("customer-17")).await;
        let same = presented("http://127.0.0.1:9", "re_new", Account::new().id("customer-17")).await;
        assert_eq!(job.check(&same), Ok(None));
        for other in [Account::new().id("customer-18"), Account::new()] {
            let other = presented("http://127.0.0.1:9", "re_first", other).await;
            assert!(matches!(job.check(&other), Err(AccountError::OtherAccount { .. })));
        }
    }
}
