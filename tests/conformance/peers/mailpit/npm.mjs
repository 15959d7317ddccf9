// npm `mailpit-api`, whose base URL is the sandbox and whose user is an API key.
import assert from 'node:assert/strict';
import { MailpitClient } from 'mailpit-api';
import { summary } from './summary.mjs';

/** Why a method isn't called. */
const reasons = {
  getAttachmentThumbnail: 'the sandbox makes no thumbnails',
  releaseMessage: 'the sandbox relays mails by commands of its own',
  htmlCheck: 'the sandbox checks HTML in another form',
  linkCheck: 'the sandbox checks links in another form',
  spamAssassinCheck: 'it needs a SpamAssassin server',
  setTags: 'the tags of an email are those it was sent with',
  renameTag: 'the tags of an email are those it was sent with',
  deleteTag: 'the tags of an email are those it was sent with',
  getChaosTriggers: 'the sandbox has faults of its own',
  setChaosTriggers: 'the sandbox has faults of its own',
};

const hidden = new Set(['constructor', 'request']);
const methods = Object.getOwnPropertyNames(MailpitClient.prototype).filter((name) => !hidden.has(name));
const called = new Set();
const client = new MailpitClient(process.env.PEER_BASE_URL, { auth: { username: 're_mailpit_npm', password: 'x' } });
for (const name of methods) {
  const call = client[name];
  client[name] = (...args) => { called.add(name); return call.apply(client, args); };
}

const send = (subject, more = {}) => client.sendMessage({
  From: { Email: 'hi@acme.test', Name: 'Acme' }, To: [{ Email: 'ada@example.com', Name: 'Ada' }], Subject: subject, Text: 'It works', HTML: '<p>It <b>works</b></p>', ...more,
});
const { ID: first } = await send('Invoice 1', { Attachments: [{ Content: 'YWJj', Filename: 'terms.txt' }] });
const { ID: second } = await send('Welcome');

const list = await client.listMessages();
assert.deepEqual(list.messages.map((one) => one.Subject), ['Welcome', 'Invoice 1']);
assert.deepEqual([list.total, list.unread, list.messages_count], [2, 2, 2]);
assert.equal((await client.listMessages(1, 1)).messages[0].ID, first);
const message = await client.getMessageSummary(first);
assert.deepEqual([message.From, message.To], [{ Name: 'Acme', Address: 'hi@acme.test' }, [{ Name: 'Ada', Address: 'ada@example.com' }]]);
assert.equal((await client.getMessageSummary()).ID, second);
assert.deepEqual((await client.getMessageHeaders(first)).Subject, ['Invoice 1']);
assert.equal(await (await client.getMessageAttachment(first, message.Attachments[0].PartID)).text(), 'abc');
assert.match(await client.getMessageSource(first), /^Subject: Invoice 1\r$/m);
assert.match(await client.renderMessageHTML(first), /<b>works<\/b>/);
assert.equal(await client.renderMessageText(first), 'It works');
assert.equal((await client.searchMessages({ query: 'invoice' })).messages_count, 1);
assert.equal((await client.waitForMessage({ query: 'welcome' })).ID, second);
assert.equal((await client.waitForMessages({ count: 2 })).messages.length, 2);
assert.equal(await client.setReadStatus({ IDs: [first], Read: true }), 'ok');
assert.equal((await client.getInfo()).Unread, 1);
assert.equal((await client.getConfiguration()).ChaosEnabled, false);
assert.deepEqual(await client.getTags(), []);
await client.deleteMessagesBySearch({ query: 'invoice' });
assert.equal((await client.listMessages()).total, 1);
await client.deleteMessages({ IDs: [second] });
assert.equal((await client.listMessages()).total, 0);
await assert.rejects(client.getMessageSummary(first), /404/);

// Its users listen to the websocket themselves.
const events = new WebSocket(`${process.env.PEER_BASE_URL.replace('http', 'ws')}/api/events?key=re_mailpit_npm`);
await new Promise((resolve, reject) => { events.onopen = resolve; events.onerror = reject; });
const seen = new Promise((resolve) => {
  events.onmessage = ({ data }) => { const event = JSON.parse(data); if (event.Type === 'new') resolve(event.Data.Subject); };
});
await send('Live');
assert.equal(await seen, 'Live');
events.close();

summary('npm mailpit-api', 'methods', methods, called, reasons);
