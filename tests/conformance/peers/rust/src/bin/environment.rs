//! An application with the crate `resend-rs` without configuration: everything comes from the environment.

use resend_rs::{Error, Resend, types::CreateEmailBaseOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let email =
        CreateEmailBaseOptions::new("Acme <hi@acme.test>", ["rust@example.com"], "From the environment");
    Resend::default().emails.send(email.with_text("It works")).await?;
    Ok(())
}
