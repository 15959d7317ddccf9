//! The operations on contact imports.

use http::Method;

use super::{
    new::NewContactImport,
    record::{ContactImport, ContactImportStatus},
};
use crate::{
    call::{Call, Operation},
    client::{List, State, Wait},
    resources::shared::Reference,
    types::ContactImportId,
};

operations! {
    /// The operations on contact imports: [`Client::contact_imports`](crate::Client::contact_imports).
    ///
    /// An import is one request for any number of contacts. It reports only the number of failed rows;
    /// [`Contacts::create`](crate::resources::contacts::Contacts::create) returns the reason for each contact.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::contact_imports::NewContactImport;
    ///
    /// let people = NewContactImport::from_file("people.csv").await?.email_column("E-Mail");
    /// let id = client.contact_imports().create(&people).await?.id;
    /// let done = client.contact_imports().wait(&id).await?;
    /// println!("{:?} created, {:?} failed", done.counts.created, done.counts.failed);
    /// # Ok(())
    /// # }
    /// ```
    pub struct ContactImports;

    /// Returns the operations on contact imports.
    accessor contact_imports;

    /// Lists imports, newest first: `GET /contacts/imports`, 10 per page by default. [`List::status`] filters it.
    fn list() -> List<ContactImport> = GET["/contacts/imports"];

    /// Gets an import: `GET /contacts/imports/{id}`.
    fn get(id: ContactImportId) -> Call<ContactImport> = GET["/contacts/imports/" id];
}

impl ContactImports<'_> {
    /// Starts an import: `POST /contacts/imports`, as `multipart/form-data`. It returns before the first row has been processed; see
    /// [`wait`](Self::wait).
    ///
    /// A file or stream is read while it is sent, once per attempt. The service honors no idempotency key here, and each request starts a separate
    /// import, so the client doesn't retry if the outcome is unknown: if the import was started, [`list`](Self::list) returns it.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewContactImport::check`] finds, before anything is sent;
    /// [`Error::File`](crate::Error::File) if the file can't be read or has changed.
    pub fn create(&self, import: &NewContactImport) -> Call<Reference<ContactImportId>> {
        let (boundary, body) = import.form();
        let operation = Operation::new("contact_imports.create", Method::POST, "/contacts/imports")
            .validate(import)
            .with_form(&boundary, body);
        Call::new(&self.client.core, operation)
    }

    /// Waits until an import has ended, completed or failed: [`ContactImportStatus::is_finished`].
    pub fn wait(&self, id: impl Into<ContactImportId>) -> Wait<ContactImport> {
        Wait::new(self.get(id), |import| {
            State::from_status(import.status.as_ref(), ContactImportStatus::is_finished)
        })
    }
}

filters! {
    /// Filters for [`ContactImports::list`].
    ContactImport {
        /// Lists only imports with this status.
        status: ContactImportStatus;
    }
}
