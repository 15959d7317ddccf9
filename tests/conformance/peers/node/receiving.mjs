import assert from 'node:assert/strict';
import { ids, nothing, receive, refused, value } from './value.mjs';

const mail = {
  from: 'Grace <grace@example.com>',
  to: 'help@acme.test',
  subject: 'A question',
  text: 'Where is it?',
  attachments: [{ filename: 'note.txt', content: Buffer.from('a note').toString('base64') }],
};

export default async (client) => {
  const id = await receive(client, mail);
  assert.deepEqual(ids(value(await client.emails.receiving.list())), [id]);
  const record = value(await client.emails.receiving.get(id));
  assert.deepEqual([record.from, record.to, record.subject], ['grace@example.com', [mail.to], mail.subject]);
  assert.ok(record.text.includes('Where is it?'));
  assert.equal(record.attachments.length, 1);

  const page = value(await client.emails.receiving.attachments.list({ emailId: id }));
  const [{ id: file }] = page.data;
  const attachment = value(await client.emails.receiving.attachments.get({ emailId: id, id: file }));
  assert.deepEqual([attachment.filename, attachment.content_disposition], ['note.txt', 'attachment']);
  assert.equal(await (await fetch(attachment.download_url)).text(), 'a note');
  assert.equal(value(await client.emails.receiving.get(id, { html_format: 'cid' })).id, id);
  refused(await client.emails.receiving.get(nothing), 'not_found');

  const forward = { emailId: id, from: 'help@acme.test', to: 'bob@example.com' };
  const asItIs = value(await client.emails.receiving.forward(forward, { idempotencyKey: 'forward' }));
  const forwarded = value(await client.emails.get(asItIs.id));
  assert.deepEqual([forwarded.to, forwarded.subject], [['bob@example.com'], mail.subject]);
  assert.ok(forwarded.text.includes('Where is it?'));
  const wrapped = value(await client.emails.receiving.forward({ ...forward, passthrough: false, text: 'For you' }));
  assert.equal(value(await client.emails.get(wrapped.id)).subject, `Fwd: ${mail.subject}`);
  const filenames = async (emailId) => value(await client.emails.attachments.list({ emailId })).data.map((one) => one.filename);
  assert.deepEqual([await filenames(asItIs.id), await filenames(wrapped.id)], [['note.txt'], ['forwarded_message.eml']]);
};
