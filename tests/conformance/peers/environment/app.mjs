// An application with npm `resend` without configuration: everything comes from the environment.
import { Resend } from 'resend';

const resend = new Resend(process.env.RESEND_API_KEY);
const { data, error } = await resend.emails.send({
  from: 'Acme <hi@acme.test>',
  to: 'node@example.com',
  subject: 'From the environment',
  text: 'It works',
});
if (error || !data.id) throw new Error(JSON.stringify(error));
