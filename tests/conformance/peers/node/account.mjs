// Webhooks, API keys and the log.
import assert from 'node:assert/strict';
import { ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const made = value(await client.webhooks.create({ endpoint: 'https://acme.test/hooks', events: ['email.sent', 'email.delivered'] }));
  assert.ok(made.signing_secret.startsWith('whsec_'), made.signing_secret);
  value(await client.webhooks.update(made.id, { status: 'disabled', events: ['email.sent'] }));
  const webhook = value(await client.webhooks.get(made.id));
  assert.deepEqual([webhook.status, webhook.endpoint, webhook.events], ['disabled', 'https://acme.test/hooks', ['email.sent']]);
  assert.deepEqual(ids(value(await client.webhooks.list())), [made.id]);
  value(await client.webhooks.update(made.id, { status: 'enabled' }));
  value(await client.webhooks.rotateSigningSecret(made.id));
  value(await client.emails.send({ from: 'hi@acme.test', to: 'ada@example.com', subject: 'For the webhook', text: 'It works' }));
  const [event] = ids(value(await client.webhooks.events.list({ webhookId: made.id })));
  assert.equal(value(await client.webhooks.events.get({ webhookId: made.id, eventId: event })).id, event);
  value(await client.webhooks.events.replay({ webhookId: made.id, eventId: event }));
  ids(value(await client.webhooks.events.attempts.list({ webhookId: made.id, eventId: event })));
  assert.equal(value(await client.webhooks.remove(made.id)).deleted, true);
  refused(await client.webhooks.get(made.id), 'not_found');

  const key = value(await client.apiKeys.create({ name: 'Node', permission: 'sending_access' }));
  assert.equal(typeof key.token, 'string');
  const keys = value(await client.apiKeys.list()).data;
  assert.ok(keys.some(({ id, name }) => id === key.id && name === 'Node'), JSON.stringify(keys));
  value(await client.apiKeys.update(key.id, { name: 'Build' }));
  assert.deepEqual(ids(value(await client.oauthGrants.list())), []);
  value(await client.apiKeys.remove(key.id));
  assert.ok(!value(await client.apiKeys.list()).data.some(({ id }) => id === key.id));

  const log = value(await client.logs.list({ limit: 5 }));
  assert.equal(ids(log).length, 5);
  assert.ok(log.data.every((entry) => entry.user_agent.startsWith('resend-node')), JSON.stringify(log.data));
  const entry = value(await client.logs.get(log.data[0].id));
  assert.deepEqual([entry.object, entry.endpoint, entry.method], ['log', '/api-keys', 'GET']);
  refused(await client.logs.get(nothing), 'not_found');
};
