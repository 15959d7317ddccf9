import { test } from 'idempost-sandbox/playwright';
import { Resend } from 'resend';
import { failsAlone, seesOnlyItsOwn, startsEmpty, waitsForTheNext, worksAgain } from '../isolation.cjs';
import { together } from '../together.cjs';

/** An application for the inbox of a test. */
function appOf(inbox) {
  const resend = new Resend(inbox.key, { baseUrl: inbox.env.RESEND_BASE_URL });
  return async (to) => {
    const code = String(Math.floor(100_000 + Math.random() * 900_000));
    const url = `https://acme.test/verify?code=${code}`;
    const html = `<p>Your code is <b>${code}</b>.</p><a href="${url}">Verify</a> <a href="https://acme.test/help">help</a>`;
    const { error } = await resend.emails.send({ from: 'hi@acme.test', to, subject: 'Welcome', html });
    if (error) throw new Error(error.message);
    return { code, url };
  };
}

export default function isolation() {
  test.beforeAll(() => together(process.env.TEST_PARALLEL_INDEX));
  test('a worker sees only its own mails', ({ inbox }) => seesOnlyItsOwn({ inbox, signUp: appOf(inbox) }));
  test('a fault stays in its worker', async ({ sandbox, inbox }) => {
    test.skip(Boolean(process.env.SUITE_SHARED));
    await failsAlone({ sandbox, inbox, signUp: appOf(inbox) });
  });
  test('a wait ends with the next mail', ({ inbox }) => waitsForTheNext({ inbox, signUp: appOf(inbox) }));
  test('an inbox is empty at the start of a test', ({ inbox }) => startsEmpty({ inbox }));
  test('a fault and a moved clock end with their test', ({ sandbox, inbox }) => worksAgain({ sandbox, inbox, signUp: appOf(inbox) }));
}
