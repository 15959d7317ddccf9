import { readFileSync } from 'node:fs';
import { Api, type KnownEvent, type UnprocessableError } from './generated/client';

async function main() {
    const { emails } = new Api({
        baseUrl: process.env.RESEND_BASE_URL,
        // It generates `format` only for responses that aren't references.
        baseApiParams: { format: 'json', headers: { Authorization: `Bearer ${process.env.RESEND_API_KEY}` } },
    });

    const sent = await emails.sendEmail({ from: 'hi@acme.test', to: 'ada@example.com', subject: 'Hello', text: 'It works' });
    console.log('send', sent.data.id);

    const first = await emails.listEmails({ limit: 1 });
    const next = await emails.listEmails({ limit: 1, after: first.data.data[0].id });
    console.log('list', first.data.data[0].id, next.data.data[0].id);

    const rejected: { status: number; error: UnprocessableError } = await emails.listEmails({ after: 'unknown' }).then(() => { throw new Error('accepted'); }, (response) => response);
    if (rejected.status === 422) console.log('422', rejected.error.name);

    const event: KnownEvent = JSON.parse(readFileSync('event.json', 'utf8'));
    if (event.type === 'email.bounced') console.log('webhook', event.data.to[0], event.data.bounce.type);
}

main();
