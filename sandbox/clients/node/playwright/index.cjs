'use strict';

const { expect, test: base } = require('@playwright/test');
const { Sandbox } = require('../lib/index.cjs');

const test = base.extend({
  sandboxOptions: [{}, { option: true, scope: 'worker' }],
  sandboxUrl: [process.env.IDEMPOST_BASE_URL, { option: true, scope: 'worker' }],
  inboxKey: [undefined, { option: true, scope: 'worker' }],
  sandbox: [
    async ({ sandboxOptions, sandboxUrl }, use) => {
      const options = { timeout: 15_000, ...sandboxOptions };
      const sandbox = sandboxUrl ? await Sandbox.join(sandboxUrl, options) : await Sandbox.start(options);
      await use(sandbox);
      await sandbox.restore();
      await sandbox.stop();
    },
    { scope: 'worker' },
  ],
  inbox: async ({ sandbox, inboxKey }, use) => {
    const inbox = sandbox.inbox({ key: inboxKey });
    await use(inbox);
    await sandbox.restore();
    if (!inboxKey) await inbox.reset();
  },
});

module.exports = { expect, test };
