import { expect, test } from 'idempost-sandbox/playwright';
import { Resend } from 'resend';

test('a new account gets a code and a link', async ({ inbox }) => {
  const resend = new Resend(inbox.key, { baseUrl: inbox.env.RESEND_BASE_URL });
  await resend.emails.send({ from: 'hi@acme.test', to: 'ada@example.com', subject: 'Welcome', html: 'Your code is 123456.' });
  const mail = await inbox.waitFor({ to: 'ada@example.com', subject: 'Welcome' });
  expect(mail.code).toBe('123456');
});
