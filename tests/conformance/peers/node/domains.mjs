import assert from 'node:assert/strict';
import { eventually, ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const made = value(
    await client.domains.create({
      name: 'node.acme.test',
      region: 'eu-west-1',
      customReturnPath: 'outbound',
      trackingSubdomain: 'links',
      clickTracking: true,
      tls: 'enforced',
      capabilities: { sending: 'enabled', receiving: 'enabled' },
    }),
  );
  assert.equal(made.status, 'not_started');
  assert.deepEqual(made.capabilities, { sending: 'enabled', receiving: 'enabled' });
  assert.ok(made.records.some((record) => record.record === 'DKIM'), JSON.stringify(made.records));
  assert.ok(made.records.some((record) => record.type === 'MX' && record.name.startsWith('outbound')));
  assert.ok(made.records.every((record) => record.status === 'not_started'));

  assert.equal(value(await client.domains.verify(made.id)).id, made.id);
  const verified = await eventually(() => client.domains.get(made.id), (domain) => domain.status !== 'pending');
  assert.equal(verified.status, 'verified');

  assert.equal(value(await client.domains.update({ id: made.id, openTracking: true, tls: 'opportunistic' })).id, made.id);
  assert.equal(value(await client.domains.get(made.id)).open_tracking, true);
  assert.ok(ids(value(await client.domains.list())).includes(made.id));
  assert.equal(value(await client.domains.remove(made.id)).deleted, true);
  refused(await client.domains.get(made.id), 'not_found');
  refused(await client.domains.verify(nothing), 'not_found');
};
