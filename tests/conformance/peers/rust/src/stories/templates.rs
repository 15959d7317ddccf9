use resend_rs::types::{
    CreateEmailBaseOptions, CreateTemplateOptions, EmailTemplate, UpdateTemplateOptions, Variable,
    VariableType,
};
use resend_rs::{Resend, Result, json};

use crate::call;
use crate::support::{NOTHING, page, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let template = CreateTemplateOptions::new("Welcome", "<p>Hello {{{NAME}}}, you have {{{CREDIT}}}</p>")
        .with_alias("rust-welcome")
        .with_from("Acme <hi@acme.test>")
        .with_subject("Welcome, {{{NAME}}}")
        .with_reply_to("help@acme.test")
        .with_variable(Variable::new("NAME", VariableType::String).with_fallback("friend"))
        .with_variable(Variable::new("CREDIT", VariableType::Number));
    let made = call!(client.templates.create(template))?.id;
    assert_eq!(call!(client.templates.publish("rust-welcome"))?.id, made);
    let variables = EmailTemplate::new(&made).with_variable("CREDIT", json!(12.5));
    let letter = CreateEmailBaseOptions::new("Acme <hi@acme.test>", ["ada@example.com"], "Welcome")
        .with_template(variables);
    let sent = call!(client.emails.send(letter))?.id;
    let html = call!(client.emails.get(&sent))?.html.expect("the email has HTML");
    assert!(html.contains("Hello friend, you have 12.5"), "{html}");

    let copy = call!(client.templates.duplicate("rust-welcome"))?.id;
    call!(client.templates.update(
        &made,
        UpdateTemplateOptions::new("Hello", "<p>{{{NAME}}}</p>").with_subject("Good morning")
    ))?;
    assert_eq!(call!(client.templates.get(&made))?.name, "Hello");
    let first = call!(client.templates.list(page(1)))?;
    assert!(first.has_more && first[0].id == copy);
    for id in [&made, &copy] {
        assert!(call!(client.templates.delete(id))?.deleted);
    }
    refused(call!(client.templates.get(NOTHING)), "not_found");
    Ok(())
}
