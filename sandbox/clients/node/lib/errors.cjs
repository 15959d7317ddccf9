'use strict';

/** An operation of the sandbox failed. `code` is stable; `status` is that of the response, if there was one. */
class SandboxError extends Error {
  constructor(code, message, { status, cause } = {}) {
    super(message, { cause });
    this.name = 'SandboxError';
    this.code = code;
    if (status !== undefined) this.status = status;
  }
}

module.exports = { SandboxError };
