// Two integrations hard-code the URL of the service: their requests are redirected to the sandbox, and nothing else is changed.
const asked = globalThis.fetch;
globalThis.fetch = (resource, options) =>
  asked(resource === 'https://api.resend.com/emails' ? `${process.env.PEER_BASE_URL}/emails` : resource, options);
