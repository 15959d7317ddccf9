// Compiled, not run: the declarations fit the API.
import { inbox as jestInbox } from 'idempost-sandbox/jest';
import { type Options, test as playwrightTest } from 'idempost-sandbox/playwright';
import { expect, test } from 'idempost-sandbox/vitest';
import { defineConfig } from '@playwright/test';
import { type Mail, Sandbox, SandboxError } from 'idempost-sandbox';

test('types', async ({ inbox, sandbox }) => {
  const mail: Mail = await inbox.waitFor({ to: 'ada', tag: { kind: 'a' }, after: new Date(), timeout: '2s' });
  expect(mail.link(/verify/)).toBe(mail.links[0]?.url);
  await sandbox.fail('POST /emails', { status: 503, times: 2 });
  await sandbox.fail({ drop: true });
  // @ts-expect-error A misspelled option.
  await sandbox.fail('POST /emails', { statuss: 503 });
  // @ts-expect-error A misspelled filter.
  await inbox.waitFor({ too: 'ada' });
});

export const config = defineConfig<object, Options>({ use: { sandboxUrl: 'http://127.0.0.1:4010' } });
playwrightTest.use({ inboxKey: 'sb_local', sandboxUrl: 'http://127.0.0.1:4010' });
playwrightTest('types', async ({ inbox, page }) => {
  await page.goto((await inbox.waitFor({ to: inbox.address() })).link('Verify'));
});

export async function joined(): Promise<string> {
  await using sandbox = await Sandbox.join('http://127.0.0.1:4010', { password: 'correct-horse' });
  Object.assign(process.env, sandbox.env, jestInbox.env);
  const environment: Record<string, string> = sandbox.env;
  return environment.RESEND_BASE_URL ?? SandboxError.name;
}
