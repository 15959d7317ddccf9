// The attachments of sent emails, and links to share an email.
import assert from 'node:assert/strict';
import { ids, nothing, refused, value } from './value.mjs';

export default async (client) => {
  const sent = value(
    await client.emails.send({
      from: 'hi@acme.test',
      to: 'ada@example.com',
      subject: 'Two files',
      html: '<img src="cid:logo">',
      attachments: [
        { filename: 'note.txt', content: Buffer.from('a note') },
        { filename: 'logo.png', content: Buffer.from('logo'), contentId: 'logo' },
      ],
    }),
  );
  const list = value(await client.emails.attachments.list({ emailId: sent.id }));
  const shown = list.data.map((file) => [file.filename, file.content_disposition, file.size]);
  assert.deepEqual(shown, [['note.txt', 'attachment', 6], ['logo.png', 'inline', 4]]);
  const [note] = ids(list);
  const file = value(await client.emails.attachments.get({ emailId: sent.id, id: note }));
  assert.deepEqual([file.object, file.filename, file.content_type], ['attachment', 'note.txt', 'text/plain']);
  assert.equal(await (await fetch(file.download_url)).text(), 'a note');
  refused(await client.emails.attachments.get({ emailId: sent.id, id: nothing }), 'not_found');

  for (const options of [undefined, { expiresIn: '1h 30m' }]) {
    const shared = value(await client.emails.share(sent.id, options));
    assert.deepEqual([shared.object, shared.id], ['email', sent.id]);
    const page = await fetch(shared.url);
    assert.equal(page.status, 200);
    assert.ok((await page.text()).includes('Two files'));
  }
  refused(await client.emails.share(sent.id, { expiresIn: '3 days' }), 'validation_error');
  refused(await client.emails.share(nothing), 'not_found');
};
