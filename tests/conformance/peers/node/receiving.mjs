import assert from 'node:assert/strict';
import { ids, nothing, refused, value } from './value.mjs';

const mail = {
  from: 'Grace <grace@example.com>',
  to: 'help@acme.test',
  subject: 'A question',
  text: 'Where is it?',
  attachments: [{ filename: 'note.txt', content: Buffer.from('a note').toString('base64') }],
};

export default async (client) => {
  // Only the sandbox defines how mail arrives.
  const arrived = await fetch(`${client.baseUrl}/_/received`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(mail),
  });
  const { id } = await arrived.json();
  assert.equal(arrived.status, 201);

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
  refused(await client.emails.receiving.get(nothing), 'not_found');
};
