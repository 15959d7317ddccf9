// Metrics of emails and broadcasts, and the account's usage.
import assert from 'node:assert/strict';
import { eventually, ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const domain = value(await client.domains.create({ name: 'metrics.test' }));
  const email = { from: 'hi@metrics.test', subject: 'Counted', text: 'It works' };
  const sent = value(await client.emails.send({ ...email, to: 'ada@example.com' }));
  value(await client.emails.send({ ...email, to: 'bounced@example.com' }));
  const counted = await eventually(
    () => client.emails.metrics({ metrics: ['sent', 'delivered', 'bounced', 'delivery_rate'] }),
    ({ totals }) => totals.delivered === 1 && totals.bounced === 1,
  );
  assert.deepEqual([counted.object, counted.totals], ['metrics', { sent: 2, delivered: 1, bounced: 1, delivery_rate: 50 }]);
  assert.deepEqual([counted.dimensions, counted.data], [[], undefined]);
  const ofDomain = value(
    await client.emails.metrics({
      startDate: new Date(Date.now() - 86_400_000).toISOString(),
      endDate: new Date(Date.now() + 60_000).toISOString(),
      timezone: 'Europe/Paris',
      granularity: 'monthly',
      metrics: ['sent'],
      dimensions: ['period', 'domain'],
      domainId: [domain.id],
    }),
  );
  assert.deepEqual(ofDomain.data.map((row) => [row.domain_id, row.domain_name]).at(-1), [domain.id, 'metrics.test']);
  assert.equal(ofDomain.totals.sent, 2);
  const ofEmail = value(await client.emails.metrics({ dimensions: ['email'], emailId: [sent.id], metrics: ['delivered'] }));
  assert.deepEqual(ofEmail.data, [{ email_id: sent.id, delivered: 1 }]);
  refused(await client.emails.metrics({ startDate: 'yesterday' }), 'validation_error');

  const { id: segmentId } = value(await client.segments.create({ name: 'Readers' }));
  for (const address of ['clicked@example.com', 'bounced+2@example.com']) {
    value(await client.contacts.create({ email: address, segments: [{ id: segmentId }] }));
  }
  const html = '<a href="https://acme.test/pricing">Prices</a> <a href="{{{SERVICE_UNSUBSCRIBE_URL}}}">Unsubscribe</a>';
  const letter = { segmentId, from: 'news@acme.test', subject: 'News', html, send: true };
  const broadcast = value(await client.broadcasts.create(letter));
  const clicked = await eventually(() => client.broadcasts.recipients(broadcast.id, { type: 'clicked' }), (page) => page.data.length > 0);
  const [reader] = clicked.data;
  assert.equal(reader.email, 'clicked@example.com');
  assert.equal(reader.contact_id, value(await client.contacts.get('clicked@example.com')).id);
  assert.deepEqual([reader.count, reader.clicked_links], [1, [{ url: 'https://acme.test/pricing', clicks: 1 }]]);
  const bounced = await eventually(
    () => client.broadcasts.recipients(broadcast.id, { type: 'bounced', bounceType: 'permanent', email: 'bounced' }),
    (page) => page.data.length > 0,
  );
  assert.equal(bounced.data[0].bounce_type, 'permanent');
  const first = value(await client.broadcasts.recipients(broadcast.id, { type: 'sent', limit: 1 }));
  assert.equal(first.has_more, true);
  const second = value(await client.broadcasts.recipients(broadcast.id, { type: 'sent', limit: 1, after: ids(first)[0] }));
  assert.notEqual(second.data[0].email, first.data[0].email);
  const links = value(await client.broadcasts.clickedLinks(broadcast.id, { limit: 5 }));
  assert.deepEqual(links.data.map(({ url, clicks, unique_clicks }) => [url, clicks, unique_clicks]), [['https://acme.test/pricing', 1, 1]]);
  refused(await client.broadcasts.clickedLinks(nothing), 'not_found');
  const ofBroadcast = value(await client.emails.metrics({ dimensions: ['broadcast'], broadcastId: [broadcast.id], metrics: ['unique_clicked'] }));
  assert.deepEqual(ofBroadcast.data.map((row) => [row.broadcast_id, row.unique_clicked]), [[broadcast.id, 1]]);

  const usage = value(await client.usage.get());
  assert.deepEqual([usage.object, usage.emails.daily.sent, usage.emails.daily.received], ['usage', 2, 0]);
  assert.deepEqual([usage.contacts.used, usage.segments.used, usage.domains.used], [2, 1, 1]);
};
