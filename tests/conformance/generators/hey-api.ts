import { readFileSync } from 'node:fs';
import { type KnownEvent, listEmails, sendEmail } from './generated';
import { client } from './generated/client.gen';

async function main() {
    client.setConfig({ baseUrl: process.env.RESEND_BASE_URL, auth: process.env.RESEND_API_KEY });

    const sent = await sendEmail({ body: { from: 'hi@acme.test', to: 'ada@example.com', subject: 'Hello', text: 'It works' } });
    console.log('send', sent.data?.id);

    const first = await listEmails({ query: { limit: 1 } });
    const next = await listEmails({ query: { limit: 1, after: first.data?.data[0].id } });
    console.log('list', first.data?.data[0].id, next.data?.data[0].id);

    const rejected = await listEmails({ query: { after: 'unknown' } });
    if (rejected.error?.statusCode === 422) console.log('422', rejected.error.name);

    const event: KnownEvent = JSON.parse(readFileSync('event.json', 'utf8'));
    if (event.type === 'email.bounced') console.log('webhook', event.data.to[0], event.data.bounce.type);
}

main();
