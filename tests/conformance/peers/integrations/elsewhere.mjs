// Two integrations write the address of the service into their code: what they ask of it goes to the sandbox. Everything else stays as it is.
const asked = globalThis.fetch;
globalThis.fetch = (resource, options) =>
  asked(resource === 'https://api.resend.com/emails' ? `${process.env.PEER_BASE_URL}/emails` : resource, options);
