'use strict';

const { SandboxError } = require('./errors.cjs');
const { Inbox } = require('./inbox.cjs');
const { Sandbox } = require('./sandbox.cjs');

module.exports = { Inbox, Sandbox, SandboxError };
