const { inbox } = require('idempost-sandbox/jest');
const { signUp } = require('../app.cjs');

test('a new account gets a code and a link', async () => {
  const { code, url } = await signUp('ada@example.com');
  const mail = await inbox.waitFor({ to: 'ada@example.com', subject: 'Welcome' });
  expect(mail.code).toBe(code);
  expect(mail.link('Verify')).toBe(url);
});
