// The npm client `resend`, unchanged but for its base address.
import assert from 'node:assert/strict';
import { Resend } from 'resend';

const client = new Resend('re_node', { baseUrl: process.env.PEER_BASE_URL });

const value = ({ data, error }) => {
  assert.equal(error, null, JSON.stringify(error));
  return data;
};

const email = (subject) => ({
  from: 'Acme <hi@acme.test>',
  to: 'ada@example.com',
  subject,
  html: '<p>It <b>works</b></p>',
});

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
assert.equal(again.error.name, 'invalid_idempotent_request');

const batch = value(await client.batch.send([email('first'), email('second')]));
assert.equal(batch.data.length, 2);

const mixed = [email('third'), { ...email('wrong'), from: 'nobody' }];
const permissive = value(await client.batch.send(mixed, { batchValidation: 'permissive' }));
assert.deepEqual(permissive.errors.map((error) => error.index), [1]);
const strict = await client.batch.send(mixed);
assert.equal(strict.error.name, 'validation_error');

const list = value(await client.emails.list({ limit: 10 }));
assert.equal(list.object, 'list');
assert.equal(list.has_more, false);
assert.deepEqual(list.data.map((item) => item.subject), ['third', 'second', 'first', 'single']);
assert.deepEqual(list.data.slice(1, 3).map((item) => item.id), batch.data.map((item) => item.id).reverse());
const rest = value(await client.emails.list({ limit: 2, after: batch.data[1].id }));
assert.deepEqual(rest.data.map((item) => item.subject), ['first', 'single']);

const record = value(await client.emails.get(sent.id));
assert.equal(record.subject, 'single');
assert.deepEqual(record.reply_to, ['help@acme.test']);

const missing = await client.emails.get('4ef9a417-02e9-4d39-ad75-9611e0fcc33c');
assert.equal(missing.error.name, 'not_found');

console.log(`npm resend: sent ${sent.id}`);
