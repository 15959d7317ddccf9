import assert from 'node:assert/strict';
import { ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const template = {
    name: 'Welcome',
    alias: 'node-welcome',
    from: 'Acme <hi@acme.test>',
    subject: 'Welcome, {{{NAME}}}',
    replyTo: 'help@acme.test',
    html: '<p>Hello {{{NAME}}}, you have {{{CREDIT}}}</p>',
    variables: [
      { key: 'NAME', type: 'string', fallbackValue: 'friend' },
      { key: 'CREDIT', type: 'number' },
    ],
  };
  const made = value(await client.templates.create(template));
  assert.equal(made.object, 'template');

  const draft = value(await client.templates.get('node-welcome'));
  assert.equal(draft.id, made.id);
  assert.equal(draft.status, 'draft');
  assert.equal(draft.published_at, null);
  assert.deepEqual(draft.reply_to, ['help@acme.test']);
  assert.deepEqual(draft.variables.map(({ key, type }) => [key, type]), [['NAME', 'string'], ['CREDIT', 'number']]);
  assert.equal(draft.variables[0].fallback_value, 'friend');

  const letter = { to: 'ada@example.com', template: { id: 'node-welcome', variables: { CREDIT: 12.5 } } };
  refused(await client.emails.send(letter), 'validation_error');
  assert.equal(value(await client.templates.publish('node-welcome')).id, made.id);
  const sent = value(await client.emails.send(letter));
  const record = value(await client.emails.get(sent.id));
  assert.equal(record.subject, 'Welcome, friend');
  assert.ok(record.html.includes('Hello friend, you have 12.5'), record.html);
  refused(await client.emails.send({ ...letter, template: { id: 'node-welcome' } }), 'validation_error');

  assert.equal(value(await client.templates.update(made.id, { subject: 'Good morning', html: '<p>{{{NAME}}}</p>' })).id, made.id);
  assert.equal(value(await client.templates.get(made.id)).has_unpublished_versions, true);

  const copy = value(await client.templates.duplicate('node-welcome'));
  assert.notEqual(copy.id, made.id);
  const chained = value(await client.templates.create({ name: 'Chained', html: '<p>Hello</p>' }).publish());
  assert.equal(value(await client.templates.get(chained.id)).status, 'published');

  const page = value(await client.templates.list({ limit: 2 }));
  assert.deepEqual(ids(page), [chained.id, copy.id]);
  assert.equal(page.has_more, true);
  assert.deepEqual(ids(value(await client.templates.list({ after: copy.id }))), [made.id]);

  for (const id of [made.id, copy.id, chained.id]) {
    assert.equal(value(await client.templates.remove(id)).deleted, true);
  }
  refused(await client.templates.get('node-welcome'), 'not_found');
  refused(await client.templates.publish(nothing), 'not_found');
};
