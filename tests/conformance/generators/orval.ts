import { readFileSync } from 'node:fs';
import { listEmails, sendEmail } from './generated/client';
import type { KnownEvent } from './generated/model';

async function main() {
    const headers = { Authorization: `Bearer ${process.env.RESEND_API_KEY}` };

    const sent = await sendEmail({ from: 'hi@acme.test', to: 'ada@example.com', subject: 'Hello', text: 'It works' }, { headers });
    if (sent.status === 200) console.log('send', sent.data.id);

    const first = await listEmails({ limit: 1 }, { headers });
    if (first.status !== 200) throw first.data;
    const next = await listEmails({ limit: 1, after: first.data.data[0].id }, { headers });
    if (next.status === 200) console.log('list', first.data.data[0].id, next.data.data[0].id);

    const rejected = await listEmails({ after: 'unknown' }, { headers });
    if (rejected.status === 422) console.log('422', rejected.data.name);

    const event: KnownEvent = JSON.parse(readFileSync('event.json', 'utf8'));
    if (event.type === 'email.bounced') console.log('webhook', event.data.to[0], event.data.bounce.type);
}

main();
