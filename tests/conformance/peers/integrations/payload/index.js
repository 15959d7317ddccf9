// All that `@payloadcms/email-resend` takes from Payload, which is a whole server.
export class APIError extends Error {}
