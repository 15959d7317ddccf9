//! The operations on automations.

use super::{
    new::NewAutomation,
    patch::AutomationPatch,
    record::{Automation, AutomationStatus, AutomationSummary, StoppedAutomation},
    run::{AutomationRun, AutomationRunSummary, RunStatus},
};
use crate::{
    call::Call,
    client::{List, State, Wait},
    resources::shared::{Deleted, Reference},
    types::{AutomationId, AutomationRunId},
};

operations! {
    /// The operations on automations: [`Client::automations`](crate::Client::automations).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::{automations::{AutomationPatch, AutomationStatus, Connection, NewAutomation, Step}, events::EventOccurrence};
    ///
    /// let welcome = NewAutomation::new("Welcome")
    ///     .step(Step::trigger("signed_up", "user.created"))
    ///     .step(Step::send_email("welcome", "welcome-mail"))
    ///     .connection(Connection::new("signed_up", "welcome"));
    /// let id = client.automations().create(&welcome).await?.id;
    /// client.automations().update(&id, &AutomationPatch::new().status(AutomationStatus::Enabled)).await?;
    ///
    /// client.events().send(&EventOccurrence::for_email("user.created", "ada@example.com")).await?;
    /// for run in client.automations().runs(&id).await?.data {
    ///     let run = client.automations().run(&id, &run.id).await?;
    ///     println!("{:?}: {:?}", run.status, run.steps);
    /// }
    ///
    /// let copy = client.automations().duplicate(&id).await?.id;
    /// println!("{:?}", client.automations().get(&copy).await?.steps);
    /// client.automations().stop(&id).await?;
    /// client.automations().delete(&copy).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub struct Automations;

    /// Returns the operations on automations.
    accessor automations;

    /// Creates an automation: `POST /automations`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewAutomation::check`] finds, before anything is sent.
    fn create() with (automation: &NewAutomation) -> Call<Reference<AutomationId>> = POST["/automations"];

    /// Lists automations, newest first: `GET /automations`, 20 per page by default.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::automations::AutomationStatus;
    ///
    /// let enabled = client.automations().list().status(AutomationStatus::Enabled).page_size(50).await?;
    /// println!("{} start runs", enabled.data.len());
    /// # Ok(())
    /// # }
    /// ```
    fn list() -> List<AutomationSummary> = GET["/automations"];

    /// Gets an automation with its definition: `GET /automations/{id}`.
    fn get(id: AutomationId) -> Call<Automation> = GET["/automations/" id];

    /// Updates an automation: `PATCH /automations/{id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`AutomationPatch::check`] finds, before anything is sent.
    fn update(id: AutomationId) with (patch: &AutomationPatch) -> Call<Reference<AutomationId>> = PATCH["/automations/" id];

    /// Deletes an automation with its runs: `DELETE /automations/{id}`.
    fn delete(id: AutomationId) -> Call<Deleted<AutomationId>> = DELETE["/automations/" id];

    /// Disables an automation and cancels its runs: `POST /automations/{id}/stop`. The operation is idempotent, so the client retries it if its
    /// outcome is unknown.
    fn stop(id: AutomationId) -> Call<StoppedAutomation> = POST["/automations/" id "/stop"].idempotent();

    /// Creates a disabled automation with the same definition: `POST /automations/{id}/duplicate`.
    fn duplicate(id: AutomationId) -> Call<Reference<AutomationId>> = POST["/automations/" id "/duplicate"];

    /// Lists the runs of an automation, newest first: `GET /automations/{id}/runs`. Awaited without a page size, it returns all of them.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::automations::RunStatus;
    ///
    /// let id = "c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd";
    /// let ended_badly = client.automations().runs(id).status([RunStatus::Failed, RunStatus::Cancelled]).await?;
    /// println!("{}", ended_badly.data.len());
    /// # Ok(())
    /// # }
    /// ```
    fn runs(id: AutomationId) -> List<AutomationRunSummary> = GET["/automations/" id "/runs"];

    /// Gets a run with its steps: `GET /automations/{id}/runs/{run_id}`.
    fn run(id: AutomationId, run_id: AutomationRunId) -> Call<AutomationRun> = GET["/automations/" id "/runs/" run_id];
}

impl Automations<'_> {
    /// Waits until a run reaches a terminal status: [`RunStatus::is_final`].
    pub fn wait_for_run(
        &self,
        id: impl Into<AutomationId>,
        run: impl Into<AutomationRunId>,
    ) -> Wait<AutomationRun> {
        Wait::new(self.run(id, run), |run| State::from_status(run.status.as_ref(), RunStatus::is_final))
    }
}

filters! {
    /// Filters for [`Automations::list`].
    AutomationSummary {
        /// Lists only automations with this status.
        status: AutomationStatus;
    }
}

impl List<AutomationRunSummary> {
    /// Lists only runs with these statuses; all runs if the iterator is empty.
    pub fn status(self, statuses: impl IntoIterator<Item = RunStatus>) -> Self {
        let mut words: Vec<String> = Vec::new();
        for status in statuses {
            if !words.iter().any(|known| known == status.as_str()) {
                words.push(status.to_string());
            }
        }
        if words.is_empty() { self } else { self.with_query("status", words.join(",")) }
    }
}
