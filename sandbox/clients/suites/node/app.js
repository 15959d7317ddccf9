// The application under test: it uses npm `resend` and configures nothing.
import { Resend } from 'resend';

const resend = new Resend();

export async function signUp(address) {
  const code = String(Math.floor(100_000 + Math.random() * 900_000));
  const url = `https://acme.test/verify?code=${code}`;
  const { error } = await resend.emails.send({
    from: 'Acme <hi@acme.test>',
    to: address,
    subject: 'Welcome',
    html: `<p>Your code is <b>${code}</b>.</p><p><a href="${url}">Verify</a> or <a href="https://acme.test/help">get help</a></p>`,
  });
  if (error) throw new Error(error.message);
  return { code, url };
}
