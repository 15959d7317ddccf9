// Claims of a domain that another account has verified.
import assert from 'node:assert/strict';
import { Resend } from 'resend';
import { eventually, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const owner = new Resend(`${client.key}_owner`, { baseUrl: client.baseUrl });
  const taken = value(await owner.domains.create({ name: 'node-claimed.test' }));
  value(await owner.domains.verify(taken.id));
  await eventually(() => owner.domains.get(taken.id), (domain) => domain.status === 'verified');

  const options = {
    name: 'node-claimed.test',
    region: 'eu-west-1',
    customReturnPath: 'outbound',
    trackingSubdomain: 'links',
    openTracking: true,
    clickTracking: false,
  };
  const claim = value(await client.domains.claims.create(options));
  assert.deepEqual([claim.object, claim.name, claim.status, claim.region], ['domain_claim', 'node-claimed.test', 'pending', 'eu-west-1']);
  assert.deepEqual([claim.record.type, claim.record.name, claim.record.ttl], ['TXT', 'node-claimed.test', 'Auto']);
  assert.equal(value(await client.domains.claims.create(options)).id, claim.id);
  assert.equal(value(await client.domains.claims.get(claim.domain_id)).id, claim.id);
  assert.equal(value(await client.domains.claims.verify(claim.domain_id)).id, claim.id);
  const settled = (record) => !['pending', 'verified'].includes(record.status);
  assert.equal((await eventually(() => client.domains.claims.get(claim.domain_id), settled)).status, 'completed');
  assert.ok(value(await client.domains.list()).data.some((domain) => domain.name === 'node-claimed.test'));
  refused(await owner.domains.get(taken.id), 'not_found');
  refused(await client.domains.claims.get(nothing), 'not_found');
};
