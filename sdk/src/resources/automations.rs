//! Automations: what happens by itself when an event is sent, and the runs in which it happens.

mod action;
mod automation;
mod connection;
mod definition;
mod rule;
mod run;
mod step;
mod value;

pub use action::{
    AddToSegment, AutomationEmail, AutomationTemplate, ContactUpdate, Delay, Trigger, WaitForEvent,
};
pub use automation::{
    Automation, AutomationPatch, AutomationStatus, AutomationSummary, NewAutomation, StoppedAutomation,
};
pub use connection::{Connection, ConnectionType};
pub use rule::{FieldRule, Operator, Rule};
pub use run::{AutomationRun, AutomationRunSummary, RunStatus, RunStep, StepStatus};
pub use step::{Action, Step};
pub use value::RunValue;

use http::Method;

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, List, State, Wait},
    types::{AutomationId, AutomationRunId},
};

/// The operations on automations: [`Client::automations`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use posthaste::{AutomationPatch, AutomationStatus, Connection, EventOccurrence, NewAutomation, Step};
///
/// let welcome = NewAutomation::new("Welcome")
///     .step(Step::trigger("signed_up", "user.created"))
///     .step(Step::send_email("welcome", "welcome-mail"))
///     .connection(Connection::new("signed_up", "welcome"));
/// let id = client.automations().create(&welcome).await?.id;
/// client.automations().update(&id, &AutomationPatch::new().status(AutomationStatus::Enabled)).await?;
///
/// client.events().send(&EventOccurrence::of_email("user.created", "ada@example.com")).await?;
/// for run in client.automations().runs(&id).await?.data {
///     let run = client.automations().run(&id, &run.id).await?;
///     println!("{:?}: {:?}", run.summary.status, run.steps);
/// }
///
/// let copy = client.automations().duplicate(&id).await?.id;
/// println!("{:?}", client.automations().get(&copy).await?.steps);
/// client.automations().stop(&id).await?;
/// client.automations().delete(&copy).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Automations<'a> {
    client: &'a Client,
}

impl Client {
    /// What happens by itself when an event is sent.
    pub fn automations(&self) -> Automations<'_> {
        Automations { client: self }
    }
}

impl Automations<'_> {
    /// Makes an automation: `POST /automations`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewAutomation::check`] finds, before anything is sent.
    pub fn create(&self, automation: &NewAutomation) -> Call<Reference<AutomationId>> {
        let operation = Operation::new("automations.create", Method::POST, "/automations")
            .with_problems(automation.problems())
            .with_json(automation);
        Call::new(&self.client.core, operation)
    }

    /// The automations, newest first: `GET /automations`, 20 a page unless a limit is given.
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
    /// use posthaste::AutomationStatus;
    ///
    /// let enabled = client.automations().list().status(AutomationStatus::Enabled).limit(50).await?;
    /// println!("{} start runs", enabled.data.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self) -> List<AutomationSummary> {
        List::new(self.client, Operation::get("automations.list", "/automations"))
    }

    /// One automation with its definition: `GET /automations/{id}`.
    pub fn get(&self, id: impl Into<AutomationId>) -> Call<Automation> {
        Call::new(&self.client.core, on("automations.get", Method::GET, &id.into(), ""))
    }

    /// Changes an automation: `PATCH /automations/{id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`AutomationPatch::check`] finds, before anything is sent.
    pub fn update(
        &self,
        id: impl Into<AutomationId>,
        patch: &AutomationPatch,
    ) -> Call<Reference<AutomationId>> {
        let operation = on("automations.update", Method::PATCH, &id.into(), "")
            .with_problems(patch.problems())
            .with_json(patch);
        Call::new(&self.client.core, operation)
    }

    /// Deletes an automation with its runs: `DELETE /automations/{id}`.
    pub fn delete(&self, id: impl Into<AutomationId>) -> Call<Deleted<AutomationId>> {
        Call::new(&self.client.core, on("automations.delete", Method::DELETE, &id.into(), ""))
    }

    /// Disables an automation and cancels its runs: `POST /automations/{id}/stop`. Stopping it twice does no more than once.
    pub fn stop(&self, id: impl Into<AutomationId>) -> Call<StoppedAutomation> {
        Call::new(&self.client.core, on("automations.stop", Method::POST, &id.into(), "/stop").repeatable())
    }

    /// Makes another automation of the same definition, which is disabled: `POST /automations/{id}/duplicate`.
    pub fn duplicate(&self, id: impl Into<AutomationId>) -> Call<Reference<AutomationId>> {
        Call::new(&self.client.core, on("automations.duplicate", Method::POST, &id.into(), "/duplicate"))
    }

    /// The runs of an automation, newest first: `GET /automations/{id}/runs`, all of them unless a limit is given.
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
    /// use posthaste::RunStatus;
    ///
    /// let id = "c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd";
    /// let ended_badly = client.automations().runs(id).status([RunStatus::Failed, RunStatus::Cancelled]).await?;
    /// println!("{}", ended_badly.data.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn runs(&self, id: impl Into<AutomationId>) -> List<AutomationRunSummary> {
        List::new(self.client, on("automations.runs", Method::GET, &id.into(), "/runs"))
    }

    /// One run with its steps: `GET /automations/{id}/runs/{run_id}`.
    pub fn run(&self, id: impl Into<AutomationId>, run: impl Into<AutomationRunId>) -> Call<AutomationRun> {
        let (id, run) = (id.into(), run.into());
        let (outer, inner) = (("/automations/", id.as_str()), ("/runs/", run.as_str()));
        Call::new(&self.client.core, Operation::on_inner("automations.run", Method::GET, outer, inner, ""))
    }

    /// Waits until a run has ended, well or badly: [`RunStatus::is_final`].
    pub fn wait_for_run(
        &self,
        id: impl Into<AutomationId>,
        run: impl Into<AutomationRunId>,
    ) -> Wait<AutomationRun> {
        let (client, id, run) = (self.client.clone(), id.into(), run.into());
        Wait::new(
            move || client.automations().run(&id, &run),
            |run| match &run.summary.status {
                Some(status) if status.is_final() => State::Settled,
                status => State::Open(status.as_ref().map(ToString::to_string)),
            },
        )
    }
}

impl List<AutomationSummary> {
    /// Only automations of this status.
    #[expect(clippy::needless_pass_by_value, reason = "a status is named where it is given")]
    pub fn status(self, status: AutomationStatus) -> Self {
        self.with_query("status", status.as_str())
    }
}

impl List<AutomationRunSummary> {
    /// Only runs of these statuses. None at all is no filter.
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

fn on(name: &'static str, method: Method, id: &AutomationId, after: &str) -> Operation {
    Operation::on(name, method, "/automations/", id.as_str(), after)
}
