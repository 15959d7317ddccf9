// Inboxes, a beta feature: threads, labels, replies, drafts and the agent's settings.
import assert from 'node:assert/strict';
import { eventually, ids, nothing, receive, refused, value } from './value.mjs';

const emailAddress = 'support@node-inbox.test';

export default async (client) => {
  const domain = value(await client.domains.create({ name: 'node-inbox.test', capabilities: { sending: 'enabled', receiving: 'enabled' } }));
  value(await client.domains.verify(domain.id));
  await eventually(() => client.domains.get(domain.id), (record) => record.status === 'verified');
  const { id: inboxId } = value(await client.inboxes.create({ emailAddress, name: 'Support', fromName: 'Acme Support' }));
  const inbox = value(await client.inboxes.get(emailAddress));
  assert.deepEqual([inbox.id, inbox.name, inbox.domain_id, inbox.unread], [inboxId, 'Support', domain.id, 0]);
  assert.equal(value(await client.inboxes.update(inboxId, { name: 'Help' })).id, inboxId);
  assert.deepEqual(ids(value(await client.inboxes.list({ limit: 5 }))), [inboxId]);

  const agent = { instructions: 'Be kind.', tone: 'concise_casual', actions: ['draft_reply', 'archive'] };
  assert.equal(value(await client.inboxes.agent.update({ inboxId, ...agent })).object, 'inbox_agent');
  assert.deepEqual(value(await client.inboxes.agent.get({ emailAddress })), { object: 'inbox_agent', ...agent });

  const label = value(await client.inboxes.labels.create({ inboxId, name: 'Urgent', color: '#E93D82' })).id;
  const other = value(await client.inboxes.labels.create({ emailAddress, name: 'Later' })).id;
  assert.equal(value(await client.inboxes.labels.update({ inboxId, labelId: label, name: 'Now' })).id, label);
  const labels = value(await client.inboxes.labels.list({ inboxId })).data;
  assert.deepEqual(labels.map(({ id, name }) => [id, name]), [[label, 'Now'], [other, 'Later']]);

  await receive(client, {
    from: 'Grace <grace@example.com>',
    to: emailAddress,
    subject: 'A question',
    text: 'Where is my order?',
    attachments: [{ filename: 'note.txt', content: Buffer.from('a note').toString('base64') }],
  });
  const threads = await eventually(() => client.inboxes.threads.list({ inboxId, folders: ['inbox'], read: false }), (page) => page.data.length > 0);
  const [thread] = threads.data;
  assert.deepEqual([thread.subject, thread.email_count, thread.has_attachment, thread.read], ['A question', 1, true, false]);
  const at = { inboxId, threadId: thread.id };
  const found = value(await client.inboxes.threads.search({ emailAddress, query: 'order', from: ['grace@example.com'], hasAttachment: true }));
  assert.deepEqual(ids(found), [thread.id]);
  assert.deepEqual(ids(value(await client.inboxes.threads.search({ inboxId, query: 'refund' }))), []);
  assert.equal(value(await client.inboxes.threads.update({ ...at, read: true })).read, true);
  assert.equal(value(await client.inboxes.threads.get(at)).folder, 'inbox');

  const names = (answer) => value(answer).data.map(({ name }) => name);
  assert.deepEqual(names(await client.inboxes.threads.labels.add({ ...at, labels: [label] })), ['Now']);
  assert.deepEqual(names(await client.inboxes.threads.labels.set({ ...at, labels: [label, other] })).sort(), ['Later', 'Now']);
  assert.deepEqual(names(await client.inboxes.threads.labels.remove({ ...at, labelId: label })), ['Later']);
  assert.deepEqual(ids(value(await client.inboxes.threads.list({ inboxId, labels: [other] }))), [thread.id]);

  const [emailId] = ids(value(await client.inboxes.threads.emails.list({ ...at, limit: 5 })));
  const email = value(await client.inboxes.threads.emails.get({ ...at, emailId }));
  assert.deepEqual([email.direction, email.to, email.attachments.length], ['inbound', [emailAddress], 1]);
  const answer = { ...at, emailId, text: 'On its way.', replyAll: true, headers: { 'X-Order': '17' } };
  const reply = value(await client.inboxes.threads.emails.reply(answer, { idempotencyKey: 'reply' }));
  assert.equal(value(await client.inboxes.threads.emails.reply(answer, { idempotencyKey: 'reply' })).id, reply.id);
  refused(await client.inboxes.threads.emails.reply({ ...answer, headers: { References: '<a@b>' } }), 'validation_error');
  value(await client.inboxes.threads.emails.forward({ ...at, emailId, to: 'bob@example.com', text: 'For you' }));
  const sent = value(await client.emails.list({ limit: 2 })).data;
  assert.deepEqual(sent.map((item) => [item.to[0], item.subject]), [['bob@example.com', 'Fwd: A question'], ['grace@example.com', 'Re: A question']]);

  const file = { filename: 'plan.txt', content: Buffer.from('a plan'), contentType: 'text/plain' };
  const draft = value(await client.inboxes.drafts.create({ inboxId, to: 'ada@example.com', subject: 'Plan', text: 'Draft', attachments: [file] })).id;
  value(await client.inboxes.drafts.update({ inboxId, draftId: draft, text: 'The plan' }));
  const record = value(await client.inboxes.drafts.get({ inboxId, draftId: draft }));
  assert.deepEqual([record.type, record.to, record.text, record.attachments.length], ['standalone', ['ada@example.com'], 'The plan', 1]);
  const followUp = value(await client.inboxes.drafts.create({ inboxId, threadId: thread.id, replyToEmailId: emailId, text: 'More' })).id;
  assert.deepEqual(ids(value(await client.inboxes.drafts.list({ inboxId }))).sort(), [draft, followUp].sort());
  value(await client.inboxes.drafts.send({ inboxId, draftId: draft, headers: { 'X-Order': '17' } }, { idempotencyKey: 'draft' }));
  assert.equal(value(await client.emails.list({ limit: 1 })).data[0].subject, 'Plan');
  assert.equal(value(await client.inboxes.drafts.remove({ inboxId, draftId: followUp })).deleted, true);

  assert.equal(value(await client.inboxes.threads.remove(at)).deleted, true);
  assert.equal(value(await client.inboxes.threads.get(at)).folder, 'trash');
  assert.equal(value(await client.inboxes.labels.remove({ inboxId, labelId: label })).deleted, true);
  refused(await client.inboxes.threads.get({ inboxId, threadId: nothing }), 'not_found');
  assert.equal(value(await client.inboxes.remove(emailAddress)).deleted, true);
  refused(await client.inboxes.get(inboxId), 'not_found');
};
