//! Mails sent to a real server: every captured one, if the sandbox forwards, and released ones.

use crate::delivery::relay::{record_not_admitted, record_result};
use crate::model::mail::CapturedMail;
use crate::model::relayed::RelayOutcome;
use crate::service::Service;
use crate::state::relay::{Outgoing, Relay, RelayError};

impl Service {
    /// Sets the real server. The first call wins.
    pub fn set_relay(&self, relay: Relay) {
        let _ = self.state.relay.set(relay);
    }

    /// The mail to forward to the recipients that the allow list admits; `None` if there are none. The others are recorded.
    pub fn next_forward(&self, mail: &CapturedMail) -> Option<Outgoing> {
        let relay = self.state.relay.get().filter(|relay| relay.is_forwarding())?;
        let (outgoing, not_admitted) = relay.admit(Some(mail.sender()), mail.recipients(), &mail.mime);
        if let Ok(email) = mail.email_id.parse() {
            let _guard = self.state.snapshot_lock.enter();
            record_not_admitted(&self.state, email, RelayOutcome::NotForwarded, &not_admitted);
        }
        outgoing
    }

    /// Records the result of forwarding a mail.
    pub fn finish_forward(
        &self,
        mail: &CapturedMail,
        outgoing: &Outgoing,
        result: &Result<String, RelayError>,
    ) {
        if let Ok(email) = mail.email_id.parse() {
            let _guard = self.state.snapshot_lock.enter();
            let outcomes = (RelayOutcome::Forwarded, RelayOutcome::NotForwarded);
            record_result(&self.state, email, outcomes, outgoing, result);
        }
    }
}
