// What the suites of all runners do in each of four workers, at once.
const assert = require('node:assert/strict');

/** Sends to the same addresses as the other workers; sees only its own mails. */
exports.seesOnlyItsOwn = async ({ inbox, signUp }) => {
  const codes = [];
  for (let round = 0; round < 25; round++) {
    const { code, url } = await signUp('ada@example.com');
    const mail = await inbox.waitFor({ to: 'ada@example.com', subject: 'Welcome', query: code });
    assert.equal(mail.code, code);
    assert.equal(mail.link('Verify'), url);
    assert.equal(mail.link(/help$/), 'https://acme.test/help');
    codes.push(code);
  }
  const newest = await inbox.waitFor({ to: 'ada@example.com' });
  assert.equal(newest.code, codes.at(-1));
  const sent = await Promise.all((await inbox.list()).map(({ id }) => inbox.get(id)));
  assert.deepEqual(sent.map(({ code }) => code).reverse(), codes);
};

/** Waits before the mail is sent, and only for what comes after another. */
exports.waitsForTheNext = async ({ inbox, signUp }) => {
  await signUp('bob@example.com');
  const first = await inbox.waitFor({ to: 'bob@example.com' });
  const next = inbox.waitFor({ to: 'bob@example.com', after: first });
  const { code } = await signUp('bob@example.com');
  assert.equal((await next).code, code);
};

/** Without the mails of the tests before. Leaves a changed clock behind. */
exports.startsEmpty = async ({ inbox }) => {
  assert.deepEqual(await inbox.list(), []);
  await inbox.clock.advance('1h');
  await assert.rejects(inbox.waitFor({ to: 'nobody@example.com', timeout: 100 }), /No mail with to "nobody@example.com" within 0.1 s/);
};

/** A fault and the clock are those of this worker's sandbox, and are restored after the test that changed them. */
exports.failsAlone = async ({ sandbox, inbox, signUp }) => {
  await sandbox.fail('POST /emails', { status: 422, always: true });
  await assert.rejects(signUp('ada@example.com'));
  await sandbox.clock.advance('1h');
  assert.deepEqual(await inbox.list(), []);
};

exports.worksAgain = async ({ sandbox, inbox, signUp }) => {
  const { code } = await signUp('ada@example.com');
  assert.equal((await inbox.waitFor()).code, code);
  for (const { clock } of [sandbox, inbox]) assert.ok(Math.abs((await clock.show()).aheadSeconds) < 60);
};
