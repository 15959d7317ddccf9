// API keys and the log.
import assert from 'node:assert/strict';
import { ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const key = value(await client.apiKeys.create({ name: 'Node', permission: 'sending_access' }));
  assert.equal(typeof key.token, 'string');
  const keys = value(await client.apiKeys.list()).data;
  assert.ok(keys.some(({ id, name }) => id === key.id && name === 'Node'), JSON.stringify(keys));
  value(await client.apiKeys.update(key.id, { name: 'Build' }));
  value(await client.apiKeys.remove(key.id));
  assert.ok(!value(await client.apiKeys.list()).data.some(({ id }) => id === key.id));

  const log = value(await client.logs.list({ limit: 5 }));
  assert.equal(ids(log).length, 5);
  assert.ok(log.data.every((entry) => entry.user_agent.startsWith('resend-node')), JSON.stringify(log.data));
  const entry = value(await client.logs.get(log.data[0].id));
  assert.deepEqual([entry.object, entry.endpoint, entry.method], ['log', '/api-keys', 'GET']);
  refused(await client.logs.get(nothing), 'not_found');
};
