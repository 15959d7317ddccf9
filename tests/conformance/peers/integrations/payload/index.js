// Everything that `@payloadcms/email-resend` uses of Payload, which is a complete server.
export class APIError extends Error {}
