//! A welcome email from a stored template, sent once to each new user even if the sign-up is repeated.

use idempost::{
    Accepted, Client, Email, Error,
    error::ApiErrorKind,
    templates::{NewTemplate, TemplateVariable},
};

/// Creates the template once. From then on, its alias identifies it.
async fn set_up(client: &Client) -> idempost::Result<()> {
    let welcome = NewTemplate::new("Welcome", "<p>Hello {{{NAME}}}, your plan is {{{PLAN}}}.</p>")
        .alias("welcome")
        .from("Acme <hi@acme.test>")
        .subject("Welcome, {{{NAME}}}")
        .variable(TemplateVariable::string("NAME"))
        .variable(TemplateVariable::string("PLAN").fallback("free"));
    match client.templates().get("welcome").await {
        Err(Error::Api(error)) if error.kind() == ApiErrorKind::NotFound => {
            client.templates().create(&welcome).await?;
        }
        known => drop(known?),
    }
    client.templates().publish("welcome").await?;
    Ok(())
}

/// Welcomes a new user. No matter how often this runs for the same user within 24 hours, one email is sent: the idempotency key identifies it.
async fn signed_up(client: &Client, user: u64, name: &str, address: &str) -> idempost::Result<Accepted> {
    let email = Email::from_template("welcome", address).variable("NAME", name).tag("kind", "welcome");
    client.emails().send(&email).idempotency_key(format!("welcome-{user}")).await
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "what became of it is the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    set_up(&client).await?;
    println!("accepted as {}", signed_up(&client, 17, "Ada", "ada@example.com").await?.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;
    use mail_parser::MessageParser;

    use super::*;

    #[tokio::test]
    async fn every_new_user_gets_one_personal_email() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        for _ in 0..2 {
            set_up(&client).await.unwrap();
        }
        let first = signed_up(&client, 17, "Ada", "ada@example.com").await.unwrap();
        let again = signed_up(&client, 17, "Ada", "ada@example.com").await.unwrap();
        assert_eq!(first, again);
        let mails = server.service().mails("sb_test");
        let [mail] = &mails[..] else { panic!("{} mails were sent", mails.len()) };
        assert_eq!(mail.subject, "Welcome, Ada");
        let body = MessageParser::default().parse(&mail.mime[..]).unwrap().body_text(0).unwrap().into_owned();
        assert_eq!(body.trim(), "Hello Ada, your plan is free.");
    }
}
