import assert from 'node:assert/strict';
import { eventually, ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const made = value(await client.suppressions.add({ email: 'ada+news@example.com' }));
  assert.equal(made.object, 'suppression');
  const record = value(await client.suppressions.get('ada+news@example.com'));
  assert.deepEqual([record.id, record.email, record.origin, record.source_id], [made.id, 'ada+news@example.com', 'manual', null]);
  const email = { from: 'hi@acme.test', to: 'ada+news@example.com', subject: 'Suppressed', text: 'It works' };
  const refusedEmail = value(await client.emails.send(email));
  await eventually(() => client.emails.get(refusedEmail.id), (sent) => sent.last_event === 'suppressed');

  const bounced = value(await client.emails.send({ ...email, to: 'bounced@example.com' }));
  const bounces = await eventually(() => client.suppressions.list({ origin: 'bounce' }), (page) => page.data.length > 0);
  assert.deepEqual(bounces.data.map((item) => [item.email, item.source_id]), [['bounced@example.com', bounced.id]]);

  const added = value(await client.suppressions.batch.add({ emails: ['bob@example.com', 'eve@example.com', 'dan@example.com'] }));
  const [bob, eve, dan] = added.data.map((item) => item.id);
  const page = value(await client.suppressions.list({ limit: 2, origin: 'manual' }));
  assert.equal(page.has_more, true);
  const rest = value(await client.suppressions.list({ after: ids(page)[1], origin: 'manual' }));
  assert.deepEqual([...ids(page), ...ids(rest)].sort(), [made.id, bob, eve, dan].sort());
  const removed = value(await client.suppressions.batch.remove({ emails: ['bob@example.com', 'unknown@example.com'] }));
  assert.deepEqual(removed.data.map((item) => [item.id, item.deleted]), [[bob, true]]);
  assert.equal(value(await client.suppressions.batch.remove({ ids: [eve, dan] })).data.length, 2);

  assert.equal(value(await client.suppressions.remove(made.id)).deleted, true);
  assert.equal(value(await client.suppressions.remove('bounced@example.com')).deleted, true);
  assert.deepEqual(ids(value(await client.suppressions.list())), []);
  refused(await client.suppressions.get(nothing), 'not_found');
};
