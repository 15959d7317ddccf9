'use strict';

const { afterEach, beforeEach } = globalThis.beforeEach ? globalThis : require('@jest/globals');
const { current } = require('../lib/runner.cjs');

const { sandbox, inbox } = current('jest');
beforeEach(() => inbox.clear());
afterEach(() => sandbox.restore());

module.exports = { inbox, sandbox };
