// The commands of `cypress-mailpit`, run by a stand-in for Cypress' queue: Cypress itself is a 200 MB browser, and the commands use
// only requests, values and pauses.
import assert from 'node:assert/strict';
import { summary } from './summary.mjs';

/** Why a command isn't run. */
const reasons = {
  mailpitGetMailSpamAssassinSummary: 'it needs a SpamAssassin server',
  mailpitGetMailSpamAssainSummary: 'it needs a SpamAssassin server',
};

const settings = { MAILPIT_URL: process.env.PEER_BASE_URL, MAILPIT_USERNAME: 're_mailpit_cypress', MAILPIT_PASSWORD: 'x' };
globalThis.Cypress = { expose: (name) => settings[name], config: () => 5_000 };
globalThis.cy = {
  env: async (names) => Object.fromEntries(names.map((name) => [name, settings[name]])),
  wrap: async (value) => value,
  wait: (time) => new Promise((resolve) => { setTimeout(resolve, time); }),
  async request({ method, url, qs, body, auth }) {
    const target = new URL(url);
    for (const [name, value] of Object.entries(qs ?? {})) target.searchParams.set(name, value);
    const headers = { authorization: `Basic ${btoa(`${auth.user}:${auth.pass}`)}` };
    if (body) headers['content-type'] = 'application/json';
    const response = await fetch(target, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${target}: ${response.status} ${text}`);
    return { status: response.status, body: response.headers.get('content-type').includes('json') ? JSON.parse(text) : text };
  },
};

const { MailpitCommands } = await import('./node_modules/cypress-mailpit/dist/src/MailpitCommands.js');
const known = [...MailpitCommands.parentCypressCommands, ...MailpitCommands.childCypressCommands];
const commands = new MailpitCommands();
const called = new Set();
const run = (name, ...args) => { called.add(name); return commands[name](...args); };

await run('mailpitDeleteAllEmails');
await run('mailpitSendMail', { subject: 'Welcome', attachments: [{ Content: 'YWJj', Filename: 'terms.txt' }] });
await run('mailpitSendMail', { subject: 'Invoice', to: [{ Email: 'bob@example.org', Name: 'Bob' }] });
const all = await run('mailpitGetAllMails');
assert.deepEqual(all.messages.map((one) => one.Subject), ['Invoice', 'Welcome']);
const latest = await run('mailpitGetMail');
assert.equal(await run('mailpitGetSubject', latest), 'Invoice');
assert.deepEqual(await run('mailpitGetRecipientAddress', latest), ['bob@example.org']);
assert.equal(await run('mailpitGetFromAddress', latest), 'from@example.com');
const welcome = await run('mailpitGetMail', all.messages[1].ID);
assert.deepEqual(await run('mailpitGetAttachments', welcome), ['terms.txt']);
assert.match(await run('mailpitGetMailHTMlBody', welcome), /hello from mailpit/);
assert.match(await run('mailpitGetMailTextBody', welcome), /hello from mailpit/);
const found = ({ messages }) => messages.map((one) => one.Subject);
assert.deepEqual(found(await run('mailpitSearchEmails', 'invoice')), ['Invoice']);
assert.deepEqual(found(await run('mailpitGetEmailsBySubject', 'Welcome')), ['Welcome']);
assert.deepEqual(found(await run('mailpitGetEmailsByTo', 'bob@example.org')), ['Invoice']);
await run('mailpitHasEmailsBySearch', 'invoice');
await run('mailpitNotHasEmailsBySearch', 'nothing');
await run('mailpitHasEmailsBySubject', 'Invoice');
await run('mailpitNotHasEmailsBySubject', 'Nothing');
await run('mailpitHasEmailsByTo', 'bob@example.org');
await run('mailpitNotHasEmailsByTo', 'nobody@example.org');
const unread = async () => (await commands.mailpitGetAllMails()).unread;
await run('mailpitSetAllEmailStatusAsRead');
assert.equal(await unread(), 0);
await run('mailpitSetAllEmailStatusAsUnRead');
assert.equal(await unread(), 2);
await run('mailpitSetStatusAsRead', all.messages);
assert.equal(await unread(), 0);
await run('mailpitSetStatusAsUnRead', latest);
assert.equal(await unread(), 1);
await run('mailpitDeleteEmailsBySearch', 'invoice');
assert.deepEqual(found(await commands.mailpitGetAllMails()), ['Welcome']);

summary('npm cypress-mailpit, without Cypress', 'commands', known, called, reasons);
