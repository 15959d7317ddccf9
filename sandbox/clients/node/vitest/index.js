import { test as base } from 'vitest';
import runner from '../lib/runner.cjs';

export const test = base.extend({
  sandbox: async ({}, use) => {
    const { sandbox } = runner.current('vitest');
    await use(sandbox);
    await sandbox.restore();
  },
  // With `sandbox`, which restores the clock of the inbox, too.
  inbox: async ({ sandbox: _ }, use) => {
    const { inbox } = runner.current('vitest');
    await inbox.clear();
    await use(inbox);
  },
});
export const it = test;
export { expect } from 'vitest';
