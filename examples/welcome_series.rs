//! A welcome series: one email immediately, another one a day later for paying users, and the status of a run.

use idempost::{
    AutomationId, Client,
    automations::{
        AutomationEmail, AutomationRun, AutomationStatus, Connection, NewAutomation, Rule, RunValue, Step,
    },
    events::EventOccurrence,
    templates::{NewTemplate, TemplateVariable},
};

/// The two emails of the series.
async fn templates(client: &Client) -> idempost::Result<()> {
    for (alias, subject, html) in [
        ("series-welcome", "Welcome, {{{NAME}}}", "<p>Hello {{{NAME}}}, good to have you.</p>"),
        ("series-tour", "Your first day with Acme Pro", "<p>Here is what your plan can do.</p>"),
    ] {
        let template =
            NewTemplate::new(alias, html).alias(alias).from("Acme <hi@acme.test>").subject(subject);
        client
            .templates()
            .create(&template.variable(TemplateVariable::string("NAME").fallback("friend")))
            .await?;
        client.templates().publish(alias).await?;
    }
    Ok(())
}

/// Welcomes every new user; those on the pro plan get the tour a day later.
async fn series(client: &Client) -> idempost::Result<AutomationId> {
    let welcome = AutomationEmail::new("series-welcome").variable("NAME", RunValue::var("event.name"));
    let series = NewAutomation::new("Welcome series")
        .status(AutomationStatus::Enabled)
        .steps([
            Step::trigger("signed_up", "user.created"),
            Step::send_email("welcome", welcome),
            Step::delay("a_day", "1 day"),
            Step::condition("is_pro", Rule::equals("event.plan", "pro")),
            Step::send_email("tour", "series-tour"),
        ])
        .connections([
            Connection::new("signed_up", "welcome"),
            Connection::new("welcome", "a_day"),
            Connection::new("a_day", "is_pro"),
            Connection::if_met("is_pro", "tour"),
        ]);
    Ok(client.automations().create(&series).await?.id)
}

/// Called when a user signs up.
async fn signed_up(client: &Client, name: &str, address: &str, plan: &str) -> idempost::Result<()> {
    let event = EventOccurrence::for_email("user.created", address).field("name", name).field("plan", plan);
    client.events().send(&event).await?;
    Ok(())
}

/// Returns the steps of the latest run.
async fn last_run(client: &Client, series: &AutomationId) -> idempost::Result<Option<AutomationRun>> {
    match client.automations().runs(series).page_size(1).await?.data.first() {
        Some(run) => Ok(Some(client.automations().run(series, &run.id).await?)),
        None => Ok(None),
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "what became of the run is the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    templates(&client).await?;
    let series = series(&client).await?;
    signed_up(&client, "Ada", "ada@example.com", "pro").await?;
    for step in last_run(&client, &series).await?.into_iter().flat_map(|run| run.steps) {
        println!("{}: {}", step.key, step.status.map_or_else(String::new, |status| status.to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::automations::RunStatus;
    use idempost_reference_server::ReferenceServer;

    use super::*;

    #[tokio::test]
    async fn the_second_email_is_sent_a_day_later_to_paying_users() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        templates(&client).await.unwrap();
        let series = series(&client).await.unwrap();
        signed_up(&client, "Ada", "ada@example.com", "pro").await.unwrap();
        signed_up(&client, "Bob", "bob@example.com", "free").await.unwrap();
        let sent = || -> Vec<_> {
            let mails = server.service().mails(&server.api_key());
            let mut sent: Vec<_> = mails.into_iter().map(|mail| (mail.to[0].clone(), mail.subject)).collect();
            sent.sort();
            sent
        };
        let mail = |to: &str, subject: &str| (to.to_owned(), subject.to_owned());
        let welcomes = [mail("ada@example.com", "Welcome, Ada"), mail("bob@example.com", "Welcome, Bob")];
        assert_eq!(sent(), welcomes);
        let bob = last_run(&client, &series).await.unwrap().unwrap();
        assert_eq!(bob.status, Some(RunStatus::Running));

        server.service().clock().advance(Duration::from_hours(24));
        let tour = mail("ada@example.com", "Your first day with Acme Pro");
        assert_eq!(sent(), [welcomes[0].clone(), tour, welcomes[1].clone()]);
        let bob = client.automations().wait_for_run(&series, &bob.id).await.unwrap();
        assert_eq!(bob.status, Some(RunStatus::Completed));
    }
}
