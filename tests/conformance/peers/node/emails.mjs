import assert from 'node:assert/strict';
import { ids, nothing, refused, value } from './value.mjs';

const email = (subject) => ({
  from: 'Acme <hi@acme.test>',
  to: 'ada@example.com',
  subject,
  html: '<p>It <b>works</b></p>',
});

export default async (client) => {
  const sent = value(
    await client.emails.send(
      {
        ...email('single'),
        replyTo: 'help@acme.test',
        headers: { 'X-Order': '17' },
        tags: [{ name: 'kind', value: 'peer' }],
        attachments: [
          { filename: 'buffer.txt', content: Buffer.from('buffer') },
          { filename: 'base64.txt', content: Buffer.from('base64').toString('base64') },
        ],
      },
      { idempotencyKey: 'single' },
    ),
  );
  const again = await client.emails.send(email('another body'), { idempotencyKey: 'single' });
  refused(again, 'invalid_idempotent_request');

  const batch = value(await client.batch.send([email('first'), email('second')]));
  assert.equal(batch.data.length, 2);
  const mixed = [email('third'), { ...email('wrong'), from: 'nobody' }];
  const permissive = value(await client.batch.send(mixed, { batchValidation: 'permissive' }));
  assert.deepEqual(permissive.errors.map((error) => error.index), [1]);
  refused(await client.batch.send(mixed), 'validation_error');

  const list = value(await client.emails.list({ limit: 10 }));
  assert.equal(list.has_more, false);
  assert.deepEqual(list.data.map((item) => item.subject), ['third', 'second', 'first', 'single']);
  assert.deepEqual(ids(list).slice(1, 3), batch.data.map((item) => item.id).reverse());
  const rest = value(await client.emails.list({ limit: 2, after: batch.data[1].id }));
  assert.deepEqual(rest.data.map((item) => item.subject), ['first', 'single']);

  const record = value(await client.emails.get(sent.id));
  assert.equal(record.subject, 'single');
  assert.deepEqual(record.reply_to, ['help@acme.test']);
  refused(await client.emails.get(nothing), 'not_found');

  const later = value(await client.emails.create({ ...email('later'), scheduledAt: 'in 1 hour' }));
  const scheduledAt = new Date(Date.now() + 7_200_000).toISOString();
  assert.equal(value(await client.emails.update({ id: later.id, scheduledAt })).id, later.id);
  assert.equal(value(await client.emails.cancel(later.id)).id, later.id);
  assert.equal(value(await client.emails.get(later.id)).last_event, 'canceled');
  refused(await client.emails.update({ id: sent.id, scheduledAt }), 'validation_error');
};
