import assert from 'node:assert/strict';
import { eventually, ids, nothing, refused, value } from './value.mjs';

const csv = (text) => new Blob([text], { type: 'text/csv' });
const done = (client, id) => eventually(() => client.contacts.imports.get(id), (record) => record.completed_at !== null);

export default async (client) => {
  const { id: segment } = value(await client.segments.create({ name: 'Imported' }));
  const { id: topic } = value(await client.topics.create({ name: 'News', defaultSubscription: 'opt_out' }));
  value(await client.contactProperties.create({ key: 'city', type: 'string' }));
  const mapped = value(
    await client.contacts.imports.create({
      file: csv('Mail,Given,Family,Town\nada@example.com,Ada,Lovelace,London\nnobody,,,\n'),
      columnMap: { email: 'Mail', firstName: 'Given', lastName: 'Family', properties: { city: { column: 'Town', type: 'string' } } },
      segments: [{ id: segment }],
      topics: [{ id: topic, subscription: 'opt_in' }],
    }),
  );
  assert.equal(mapped.object, 'contact_import');
  const record = await done(client, mapped.id);
  assert.deepEqual([record.status, record.counts], ['completed', { total: 2, created: 1, updated: 0, skipped: 0, failed: 1 }]);
  const ada = value(await client.contacts.get('ada@example.com'));
  assert.deepEqual([ada.first_name, ada.last_name, ada.properties.city.value], ['Ada', 'Lovelace', 'London']);
  assert.deepEqual(ids(value(await client.contacts.segments.list({ contactId: ada.id }))), [segment]);
  assert.equal(value(await client.contacts.topics.list({ id: ada.id })).data[0].subscription, 'opt_in');

  const file = csv('email,first_name\nada@example.com,Augusta\nbob@example.com,Bob\n');
  const skipping = value(await client.contacts.imports.create({ file, onConflict: 'skip' }));
  assert.deepEqual((await done(client, skipping.id)).counts, { total: 2, created: 1, updated: 0, skipped: 1, failed: 0 });
  assert.deepEqual(ids(value(await client.contacts.imports.list({ status: 'completed' }))), [skipping.id, mapped.id]);
  const page = value(await client.contacts.imports.list({ limit: 1 }));
  assert.deepEqual([ids(page), page.has_more], [[skipping.id], true]);
  refused(await client.contacts.imports.create({ file: csv('E-Mail\nada@example.com\n') }), 'validation_error');
  refused(await client.contacts.imports.get(nothing), 'not_found');
};
