//! A program without an async runtime: `blocking()` at the end of a call instead of `.await`.

use idempost::{Accepted, Client, Email};

fn run(client: &Client) -> idempost::Result<(Accepted, Vec<String>)> {
    let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works");
    let accepted = client.emails().send(&email).blocking()?;
    let subjects = client.emails().list().blocking_iter().map(|email| Ok(email?.subject));
    Ok((accepted, subjects.collect::<idempost::Result<_>>()?))
}

#[expect(clippy::print_stdout, reason = "the id is the program's result")]
fn main() -> idempost::Result<()> {
    let (accepted, subjects) = run(&Client::from_env()?)?;
    println!("{}, {} emails so far", accepted.id, subjects.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;

    use super::*;

    #[test]
    fn an_email_is_sent_and_listed_without_a_runtime() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let server = runtime.block_on(ReferenceServer::start());
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let (accepted, subjects) = run(&client).unwrap();
        assert_eq!(subjects, ["Hello"]);
        let record = client.emails().get(&accepted.id).blocking().unwrap();
        assert_eq!(record.id, accepted.id);
        assert_eq!(client.emails().list().page_size(1).blocking().unwrap().data.len(), 1);
        client.emails().wait(&accepted.id).blocking().unwrap();
        assert!(client.emails().get("").blocking().is_err());
    }

    #[test]
    fn a_blocking_call_inside_a_runtime_blocks_its_thread_and_works() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let server = runtime.block_on(ReferenceServer::start());
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        runtime.block_on(async { run(&client).unwrap() });
    }
}
