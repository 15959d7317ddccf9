import { expect, test } from 'idempost-sandbox/vitest';
import { signUp } from '../app.js';

test('a new account gets a code and a link', async ({ inbox }) => {
  const { code, url } = await signUp('ada@example.com');
  const mail = await inbox.waitFor({ to: 'ada@example.com', subject: 'Welcome' });
  expect(mail.code).toBe(code);
  expect(mail.link('Verify')).toBe(url);
});
