import assert from 'node:assert/strict';
import { ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const readers = value(await client.segments.create({ name: 'Readers' }));
  assert.equal(readers.name, 'Readers');
  const others = value(await client.audiences.create({ name: 'Others' }));
  assert.deepEqual(ids(value(await client.segments.list())), [others.id, readers.id]);
  assert.equal(value(await client.segments.get(readers.id)).name, 'Readers');
  assert.equal(value(await client.segments.update(others.id, { name: 'The others' })).id, others.id);

  const city = value(await client.contactProperties.create({ key: 'city', type: 'string', fallbackValue: 'nowhere' }));
  const orders = value(await client.contactProperties.create({ key: 'orders', type: 'number' }));
  assert.equal(value(await client.contactProperties.update({ id: city.id, fallbackValue: 'somewhere' })).id, city.id);
  const property = value(await client.contactProperties.get(city.id));
  assert.deepEqual([property.key, property.type, property.fallbackValue], ['city', 'string', 'somewhere']);
  assert.deepEqual(ids(value(await client.contactProperties.list())), [orders.id, city.id]);

  const news = value(await client.topics.create({ name: 'News', defaultSubscription: 'opt_out', description: 'Weekly' }));
  assert.equal(value(await client.topics.get(news.id)).name, 'News');
  assert.equal(value(await client.topics.update({ id: news.id, name: 'The news' })).id, news.id);
  assert.ok(value(await client.topics.list()).data.some((topic) => topic.name === 'The news'));

  const ada = value(
    await client.contacts.create({
      email: 'node.ada@example.com',
      firstName: 'Ada',
      lastName: 'Lovelace',
      properties: { city: 'London', orders: 3 },
      segments: [{ id: readers.id }],
      topics: [{ id: news.id, subscription: 'opt_in' }],
    }),
  );
  assert.equal(ada.object, 'contact');
  const record = value(await client.contacts.get({ email: 'node.ada@example.com' }));
  assert.equal(record.id, ada.id);
  assert.deepEqual([record.first_name, record.last_name, record.unsubscribed], ['Ada', 'Lovelace', false]);
  assert.equal(value(await client.contacts.get(ada.id)).email, 'node.ada@example.com');
  assert.deepEqual(ids(value(await client.contacts.list({ segmentId: readers.id }))), [ada.id]);

  const { id: bob } = value(await client.contacts.create({ email: 'node.bob@example.com' }));
  assert.deepEqual(ids(value(await client.contacts.list({ limit: 1 }))), [bob]);
  value(await client.contacts.update({ email: 'node.bob@example.com', unsubscribed: true, firstName: 'Bob' }));
  value(await client.contacts.update({ id: bob, firstName: null }));
  const changed = value(await client.contacts.get({ id: bob }));
  assert.deepEqual([changed.first_name, changed.unsubscribed], [null, true]);

  value(await client.contacts.segments.add({ email: 'node.bob@example.com', segmentId: readers.id }));
  assert.deepEqual(ids(value(await client.contacts.segments.list({ contactId: bob }))), [readers.id]);
  value(await client.contacts.segments.remove({ contactId: bob, segmentId: readers.id }));
  assert.deepEqual(ids(value(await client.contacts.segments.list({ email: 'node.bob@example.com' }))), []);

  const choice = async (contact) => {
    const topics = value(await client.contacts.topics.list(contact)).data;
    return topics.find((topic) => topic.id === news.id).subscription;
  };
  assert.equal(await choice({ email: 'node.ada@example.com' }), 'opt_in');
  value(await client.contacts.topics.update({ id: ada.id, topics: [{ id: news.id, subscription: 'opt_out' }] }));
  assert.equal(await choice({ id: ada.id }), 'opt_out');

  assert.equal(value(await client.contacts.remove({ id: bob })).deleted, true);
  assert.equal(value(await client.contacts.remove({ email: 'node.ada@example.com' })).deleted, true);
  refused(await client.contacts.get(ada.id), 'not_found');
  for (const { id } of [city, orders]) assert.equal(value(await client.contactProperties.remove(id)).deleted, true);
  for (const { id } of [readers, others]) assert.equal(value(await client.segments.remove(id)).deleted, true);
  assert.equal(value(await client.topics.remove(news.id)).deleted, true);
  refused(await client.segments.get(nothing), 'not_found');
};
