// Libraries that send through the service, each set up as in its documentation.
import assert from 'node:assert/strict';
import './elsewhere.mjs';
import { resendAdapter } from '@payloadcms/email-resend';
import AuthResend from '@auth/core/providers/resend';
import { ResendTransport } from '@adonisjs/mail/transports/resend';
import nodemailer from 'nodemailer';

const base = process.env.PEER_BASE_URL;

// The mails that the sandbox captured for an API key, newest first.
async function sent(apiKey) {
  const answer = await fetch(`${base}/emails?limit=100`, { headers: { authorization: `Bearer ${apiKey}` } });
  const { data } = await answer.json();
  return Promise.all(data.map(async ({ id }) => {
    const email = await fetch(`${base}/emails/${id}`, { headers: { authorization: `Bearer ${apiKey}` } });
    return email.json();
  }));
}

// Scripts a fault of the sandbox.
async function fault(apiKey, rule) {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const answer = await fetch(`${base}/_/faults`, { method: 'POST', headers, body: JSON.stringify(rule) });
  assert.equal(answer.status, 201, await answer.text());
}

const peers = {
  async payload(apiKey) {
    const { sendEmail } = resendAdapter({ apiKey, defaultFromAddress: 'hi@acme.test', defaultFromName: 'Acme' })();
    const { id } = await sendEmail({ to: 'ada@example.com', subject: 'Payload', html: '<p>It works</p>' });
    const attachments = [{ filename: 'a.txt', content: Buffer.from('bytes') }];
    await sendEmail({ to: ['ada@example.com'], cc: 'bob@example.com', subject: 'Payload', text: 'It works', attachments });
    const [second, first] = await sent(apiKey);
    assert.deepEqual([first.id, first.from, first.subject], [id, 'Acme <hi@acme.test>', 'Payload']);
    assert.deepEqual(second.cc, ['bob@example.com']);
    await assert.rejects(sendEmail({ to: 'nobody', subject: 'Payload', text: 'x' }), /422 validation_error/);
    return ['sendEmail'];
  },

  async 'auth.js'(apiKey) {
    const { options, ...defaults } = AuthResend({ apiKey, from: 'Acme <hi@acme.test>' });
    const provider = { ...defaults, ...options };
    const url = 'https://acme.test/api/auth/callback/resend?token=t';
    await provider.sendVerificationRequest({ identifier: 'ada@example.com', provider, url, theme: {} });
    const [mail] = await sent(apiKey);
    assert.equal(mail.subject, 'Sign in to acme.test');
    assert.ok(mail.html.includes(url.replaceAll('&', '&amp;')) && mail.text.includes(url), mail.html);
    return ['sendVerificationRequest'];
  },

  async adonis(apiKey) {
    const transport = new ResendTransport({ key: apiKey, baseUrl: base, tags: [{ name: 'kind', value: 'peer' }] });
    const attachments = [{ filename: 'a.txt', content: Buffer.from('bytes').toString('base64') }];
    const from = { address: 'hi@acme.test', name: 'Acme' };
    const to = [{ address: 'ada@example.com', name: 'Ada' }];
    const content = { from, to, replyTo: ['help@acme.test'], subject: 'Adonis', html: '<p>It works</p>', attachments };
    const { messageId } = await transport.send(content);
    const [mail] = await sent(apiKey);
    assert.deepEqual([mail.id, mail.to, mail.reply_to], [messageId, ['Ada <ada@example.com>'], ['help@acme.test']]);
    return ['send'];
  },

  async nodemailer(apiKey) {
    const [host, port] = process.env.PEER_SMTP.split(':');
    const connection = { host, port: Number(port) };
    const auth = { user: 'resend', pass: apiKey };
    const email = { from: 'Acme <hi@acme.test>', to: 'ada@example.com', subject: 'Grüße', text: 'It works', html: '<p>It works</p>' };
    await nodemailer.createTransport({ ...connection, auth }).verify();
    await nodemailer.createTransport({ ...connection, auth }).sendMail({
      ...email,
      bcc: 'bob@example.com',
      headers: { 'X-Order': '17' },
      attachments: [{ filename: 'naïve.txt', content: 'bytes' }],
    });
    const [mail] = await sent(apiKey);
    assert.deepEqual([mail.subject, mail.to, mail.bcc], ['Grüße', ['ada@example.com'], ['bob@example.com']]);
    const wrong = nodemailer.createTransport({ ...connection, auth: { ...auth, pass: 'wrong' } });
    await assert.rejects(wrong.sendMail(email), { responseCode: 535 });
    await nodemailer.createTransport({ ...connection, auth }).sendMail({ ...email, subject: 'Before the faults' });
    assert.equal((await sent(apiKey))[0].subject, 'Before the faults');
    // Each scripted fault is reported once, with its code, and the next mail is sent.
    for (const smtp of ['CONNECT', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'END-OF-DATA']) {
      for (const code of [450, 451, 550, 554]) {
        // It tries HELO after a rejected EHLO.
        await fault(apiKey, { smtp, action: 'answer', code, times: smtp === 'EHLO' ? 2 : 1 });
        const failed = nodemailer.createTransport({ ...connection, auth }).sendMail({ ...email, subject: 'Rejected' });
        await assert.rejects(failed, { responseCode: code }, `${smtp} ${code}`);
      }
      await fault(apiKey, { smtp, action: 'drop' });
      await assert.rejects(nodemailer.createTransport({ ...connection, auth }).sendMail(email), /closed|ECONNRESET/, smtp);
      assert.equal((await sent(apiKey))[0].subject, 'Before the faults');
    }
    await nodemailer.createTransport({ ...connection, auth }).sendMail({ ...email, subject: 'After the faults' });
    assert.equal((await sent(apiKey))[0].subject, 'After the faults');
    return ['verify', 'sendMail'];
  },
};

for (const [name, run] of Object.entries(peers)) {
  console.log(`${name}: ${(await run(`re_${name.replace('.', '')}`)).join(', ')}`);
}
