import assert from 'node:assert/strict';
import { eventually, ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const { id: segmentId } = value(await client.segments.create({ name: 'Broadcast readers' }));
  value(await client.contacts.create({ email: 'node.cyd@example.com', firstName: 'Cyd', segments: [{ id: segmentId }] }));
  const letter = {
    segmentId,
    from: 'Acme <news@acme.test>',
    subject: 'Hello, {{{FIRST_NAME}}}',
    html: '<p>News</p><a href="{{{SERVICE_UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    name: 'Week 47',
    replyTo: 'help@acme.test',
    previewText: 'What happened',
  };
  const made = value(await client.broadcasts.create(letter));
  const draft = value(await client.broadcasts.get(made.id));
  assert.deepEqual([draft.status, draft.name, draft.segment_id], ['draft', 'Week 47', segmentId]);
  assert.equal(draft.audience_id, segmentId);
  assert.equal(value(await client.broadcasts.update(made.id, { name: 'Week 48' })).id, made.id);

  const copy = value(await client.broadcasts.duplicate(made.id));
  assert.equal(value(await client.broadcasts.send(copy.id, { scheduledAt: 'in 1 hour' })).id, copy.id);
  assert.equal(value(await client.broadcasts.get(copy.id)).status, 'scheduled');
  assert.equal(value(await client.broadcasts.cancel(copy.id)).id, copy.id);
  assert.equal(value(await client.broadcasts.get(copy.id)).status, 'draft');
  assert.equal(value(await client.broadcasts.remove(copy.id)).deleted, true);

  assert.equal(value(await client.broadcasts.send(made.id)).id, made.id);
  const sent = await eventually(() => client.broadcasts.get(made.id), (broadcast) => broadcast.status !== 'queued');
  assert.equal(sent.status, 'sent');
  assert.notEqual(sent.sent_at, null);
  const emails = value(await client.emails.list({ limit: 1 }));
  assert.deepEqual(emails.data.map((email) => [email.to, email.subject]), [[['node.cyd@example.com'], 'Hello, Cyd']]);
  refused(await client.broadcasts.remove(made.id), 'validation_error');

  const direct = value(await client.broadcasts.create({ ...letter, send: true, scheduledAt: 'in 1 hour' }));
  assert.equal(value(await client.broadcasts.get(direct.id)).status, 'scheduled');
  assert.deepEqual(ids(value(await client.broadcasts.list())), [direct.id, made.id]);
  refused(await client.broadcasts.get(nothing), 'not_found');
};
