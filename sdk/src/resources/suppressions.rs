//! The suppression list: addresses to which the service doesn't send. (The specification doesn't define it; the format is Resend's.)

use serde::{Deserialize, Serialize};

use crate::{
    call::Call,
    client::List,
    problem::{Validator, limits},
    resources::shared::{Deleted, Reference},
    types::{EmailId, SuppressionId, Timestamp},
};

pub use super::shared::SuppressionOrigin;

#[derive(Serialize)]
struct Address {
    email: String,
}

impl Address {
    fn validate(&self, v: &mut Validator) {
        v.required_address("email", &self.email);
    }
}

validate!(private Address);

/// The addresses or IDs in a batch.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Batch {
    Emails(Vec<String>),
    Ids(Vec<SuppressionId>),
}

impl Batch {
    fn validate(&self, v: &mut Validator) {
        let (name, count) = match self {
            Self::Emails(emails) => {
                v.for_each_item("emails", emails, |v, email| v.bare_address(email));
                ("emails", emails.len())
            }
            Self::Ids(ids) => {
                v.check_ids("ids", ids.iter().map(SuppressionId::as_str));
                ("ids", ids.len())
            }
        };
        let max = limits::SUPPRESSIONS_PER_BATCH;
        if count == 0 || count > max {
            v.field(name, |v| {
                v.report_found("count", format!("a batch must have 1 to {max} entries"), count);
            });
        }
    }
}

validate!(private Batch);

record! {
    /// An entry of the suppression list.
    pub struct Suppression {
        /// The entry's ID.
        pub id: SuppressionId,
        /// The address.
        pub email: String,
        /// Why the address is on the list.
        pub origin: Option<SuppressionOrigin>,
        /// The email that bounced or was reported as spam.
        pub source_id: Option<EmailId>,
        /// When the address was added.
        pub created_at: Option<Timestamp>,
    }
}

items!(Suppression);

/// The response to [`Suppressions::add_batch`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AddedSuppressions {
    /// The entries, in request order. An address that was already on the list keeps its entry.
    pub data: Vec<Reference<SuppressionId>>,
}

/// The response to [`Suppressions::remove_batch`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemovedSuppressions {
    /// The removed entries, without addresses that weren't on the list.
    pub data: Vec<Deleted<SuppressionId>>,
}

operations! {
    /// The operations on the suppression list: [`Client::suppressions`](crate::Client::suppressions).
    ///
    /// The list is filled automatically: permanent bounces and spam complaints add the address. The service drops recipients on the list from every
    /// email (single, batch or broadcast), whichever domain sends it.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::suppressions::SuppressionOrigin;
    ///
    /// client.suppressions().add("ada@example.com").await?;
    /// for entry in client.suppressions().list().origin(SuppressionOrigin::Bounce).await?.data {
    ///     println!("{} since {:?}", entry.email, entry.created_at);
    /// }
    /// client.suppressions().remove("ada@example.com").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub struct Suppressions;

    /// Returns the operations on the suppression list.
    accessor suppressions;

    /// Lists the entries, newest first: `GET /suppressions`, 20 per page by default. [`List::origin`] filters it.
    fn list() -> List<Suppression> = GET["/suppressions"];

    /// Gets an entry by its ID or address: `GET /suppressions/{id_or_email}`. Returns 404 for an address that isn't on the list.
    fn get(entry: SuppressionId) -> Call<Suppression> = GET["/suppressions/" entry];

    /// Removes an entry by its ID or address: `DELETE /suppressions/{id_or_email}`. Another bounce or complaint adds the address again.
    fn remove(entry: SuppressionId) -> Call<Deleted<SuppressionId>> = DELETE["/suppressions/" entry];

    /// Adds an address: `POST /suppressions`. An address that is already on the list keeps its entry, so the client retries if the outcome is
    /// unknown.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if it isn't an address, before anything is sent.
    fn add(email: String) with input (Address { email }) -> Call<Reference<SuppressionId>>
        = POST["/suppressions"].idempotent();

    /// Adds 1 to 100 addresses, either all or none: `POST /suppressions/batch/add`. It can be repeated, like [`add`](Self::add).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are no or too many addresses, or if one is invalid, before anything is sent.
    fn add_batch(; emails: [String]) with input (Batch::Emails(emails)) -> Call<AddedSuppressions>
        = POST["/suppressions/batch/add"].idempotent();

    /// Removes 1 to 100 addresses: `POST /suppressions/batch/remove`. Addresses that aren't on the list are ignored.
    ///
    /// The client retries it if its outcome is unknown; the response then omits entries that an earlier attempt has removed.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are no or too many addresses, or if one is invalid, before anything is sent.
    fn remove_batch(; emails: [String]) with input (Batch::Emails(emails)) -> Call<RemovedSuppressions>
        = POST["/suppressions/batch/remove"].idempotent();

    /// Removes 1 to 100 entries by their IDs: [`remove_batch`](Self::remove_batch), with `ids` in the body.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are no or too many IDs, or if one is empty, before anything is sent.
    fn remove_batch_by_id(; ids: [SuppressionId]) with input (Batch::Ids(ids)) -> Call<RemovedSuppressions>
        = POST["/suppressions/batch/remove"].idempotent();
}

filters! {
    /// Filters for [`Suppressions::list`].
    Suppression {
        /// Lists only entries with this origin.
        origin: SuppressionOrigin;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::{Validate as _, codes};

    #[test]
    fn a_batch_has_one_to_a_hundred_entries() {
        let emails = |count: usize| Batch::Emails(vec!["ada@example.com".to_owned(); count]);
        assert_eq!(codes(emails(1).check()), "");
        assert_eq!(codes(emails(100).check()), "");
        for count in [0, 101] {
            assert_eq!(codes(emails(count).check()), "count /emails");
        }
        assert_eq!(codes(Batch::Ids(Vec::new()).check()), "count /ids");
    }

    #[test]
    fn every_invalid_entry_is_reported() {
        let emails = ["ada@example.com", "nobody", ""].map(str::to_owned).to_vec();
        assert_eq!(codes(Batch::Emails(emails).check()), "address /emails/1, empty /emails/2");
        assert_eq!(codes(Batch::Ids(vec!["".into()]).check()), "empty /ids/0");
        assert!(Address { email: "nobody".to_owned() }.check().is_err());
    }

    #[test]
    fn the_body_has_either_addresses_or_ids() {
        let body = |batch: &Batch| serde_json::to_value(batch).unwrap();
        assert_eq!(body(&Batch::Ids(vec!["s1".into()])), json!({ "ids": ["s1"] }));
        assert_eq!(body(&Batch::Emails(vec!["a@b.c".to_owned()])), json!({ "emails": ["a@b.c"] }));
    }
}
