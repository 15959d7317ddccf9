import assert from 'node:assert/strict';
import { eventually, ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const made = value(await client.events.create({ name: 'node.signed_up', schema: { plan: 'string' } }));
  assert.equal(value(await client.events.get('node.signed_up')).id, made.id);
  assert.equal(value(await client.events.update(made.id, { schema: { plan: 'string', seats: 'number' } })).id, made.id);
  assert.deepEqual(ids(value(await client.events.list())), [made.id]);

  const { id: template } = value(
    await client.templates
      .create({ name: 'Sign-up', from: 'hi@acme.test', subject: 'Welcome', html: '<p>Welcome</p>' })
      .publish(),
  );
  value(await client.contacts.create({ email: 'node.dan@example.com', firstName: 'Dan' }));
  const series = {
    name: 'Sign-up series',
    status: 'enabled',
    steps: [
      { key: 'start', type: 'trigger', config: { eventName: 'node.signed_up' } },
      { key: 'pro', type: 'condition', config: { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' } },
      { key: 'welcome', type: 'send_email', config: { template: { id: template } } },
    ],
    connections: [
      { from: 'start', to: 'pro', type: 'default' },
      { from: 'pro', to: 'welcome', type: 'condition_met' },
    ],
  };
  const automation = value(await client.automations.create(series));
  const record = value(await client.automations.get(automation.id));
  assert.deepEqual([record.name, record.status, record.steps.length], ['Sign-up series', 'enabled', 3]);

  const sent = value(await client.events.send({ event: 'node.signed_up', email: 'node.dan@example.com', payload: { plan: 'pro' } }));
  assert.deepEqual(sent, { object: 'event', event: 'node.signed_up' });
  const automationId = automation.id;
  const runs = await eventually(
    () => client.automations.runs.list({ automationId, status: ['completed', 'failed'] }),
    (page) => page.data.length > 0,
  );
  const run = value(await client.automations.runs.get({ automationId, runId: runs.data[0].id }));
  assert.equal(run.status, 'completed', JSON.stringify(run));
  const emails = value(await client.emails.list({ limit: 1 }));
  assert.deepEqual(emails.data.map((email) => [email.to, email.subject]), [[['node.dan@example.com'], 'Welcome']]);

  assert.equal(value(await client.automations.update(automationId, { name: 'Sign-ups' })).id, automationId);
  const copy = value(await client.automations.duplicate(automationId));
  assert.deepEqual(ids(value(await client.automations.list({ status: 'disabled' }))), [copy.id]);
  const stopped = value(await client.automations.stop(automationId));
  assert.deepEqual([stopped.object, stopped.id, stopped.status], ['automation', automationId, 'disabled']);
  for (const id of [copy.id, automationId]) assert.equal(value(await client.automations.remove(id)).deleted, true);
  assert.equal(value(await client.events.remove('node.signed_up')).deleted, true);
  refused(await client.automations.get(nothing), 'not_found');
};
