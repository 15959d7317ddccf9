//! The idempotency keys of a job.

use crate::journal::BodyHash;

/// Returns a batch's key: the same in every process that sends it, but different for any other content.
pub(crate) fn idempotency_key(job: &str, batch: u32, hash: &BodyHash) -> String {
    format!("bulk/{job}/{batch}/{:032x}", u128::from_be_bytes(*hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_the_job_the_batch_and_the_content() {
        //
        let key = idempotency_key("3f9a1c2b7d4e-1", 17, &[0xab; 16]);
        assert_eq!(key, "bulk/3f9a1c2b7d4e-1/17/abababababababababababababababab");
    }
}
