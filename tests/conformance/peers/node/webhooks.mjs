// Webhooks and their deliveries, which the client verifies.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { eventually, ids, refused, value } from './value.mjs';

const email = { from: 'hi@acme.test', to: 'ada@example.com', subject: 'For the webhook', text: 'It works' };

async function delivered(client) {
  const receiver = createServer().listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const endpoint = `http://127.0.0.1:${receiver.address().port}/`;
  const { id, signing_secret: webhookSecret } = value(await client.webhooks.create({ endpoint, events: ['email.sent'] }));
  const arrival = once(receiver, 'request');
  const sent = value(await client.emails.send(email));
  const [request, response] = await arrival;
  const payload = await text(request);
  response.writeHead(204).end();
  const headers = { id: request.headers['svix-id'], timestamp: request.headers['svix-timestamp'], signature: request.headers['svix-signature'] };
  const event = client.webhooks.verify({ payload, headers, webhookSecret });
  assert.deepEqual([event.type, event.data.email_id], ['email.sent', sent.id]);
  assert.throws(() => client.webhooks.verify({ payload: payload.replace('sent', 'lost'), headers, webhookSecret }));
  const [listed] = ids(value(await client.webhooks.events.list({ webhookId: id })));
  await eventually(() => client.webhooks.events.attempts.list({ webhookId: id, eventId: listed }), (page) => page.data.length === 1);
  value(await client.webhooks.remove(id));
  receiver.closeAllConnections();
  receiver.close();
}

export default async (client) => {
  const made = value(await client.webhooks.create({ endpoint: 'https://acme.test/hooks', events: ['email.sent', 'email.delivered'] }));
  assert.ok(made.signing_secret.startsWith('whsec_'), made.signing_secret);
  value(await client.webhooks.update(made.id, { status: 'disabled', events: ['email.sent'] }));
  const webhook = value(await client.webhooks.get(made.id));
  assert.deepEqual([webhook.status, webhook.endpoint, webhook.events], ['disabled', 'https://acme.test/hooks', ['email.sent']]);
  assert.deepEqual(ids(value(await client.webhooks.list())), [made.id]);
  value(await client.webhooks.update(made.id, { status: 'enabled' }));
  value(await client.webhooks.rotateSigningSecret(made.id));
  value(await client.emails.send(email));
  const [event] = ids(value(await client.webhooks.events.list({ webhookId: made.id })));
  assert.equal(value(await client.webhooks.events.get({ webhookId: made.id, eventId: event })).id, event);
  value(await client.webhooks.events.replay({ webhookId: made.id, eventId: event }));
  ids(value(await client.webhooks.events.attempts.list({ webhookId: made.id, eventId: event })));
  assert.equal(value(await client.webhooks.remove(made.id)).deleted, true);
  refused(await client.webhooks.get(made.id), 'not_found');
  await delivered(client);
};
