//! The operation on the account's usage.

use super::record::Usage;
use crate::call::Call;

operations! {
    /// The operation on the account's usage: [`Client::usage`](crate::Client::usage).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let today = client.usage().get().await?.emails.daily;
    /// if today.remaining() == Some(0) {
    ///     println!("no more emails until {:?}", today.resets_at);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub struct UsageOperations;

    /// Returns the operation on the account's usage.
    accessor usage;

    /// Gets the usage and the quotas of the account: `GET /usage`. Any API key may, also one that may only send; access tokens need `full_access`.
    fn get() -> Call<Usage> = GET["/usage"];
}
