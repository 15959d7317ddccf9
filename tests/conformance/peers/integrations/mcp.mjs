// The official MCP server, `resend-mcp`: every tool is called as an assistant calls it, or listed here with a reason.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { summary } from './summary.mjs';

const env = { PATH: process.env.PATH, RESEND_API_KEY: 're_mcp', RESEND_BASE_URL: process.env.PEER_BASE_URL, SENDER_EMAIL_ADDRESS: 'hi@acme.test' };
const transport = new StdioClientTransport({ command: process.execPath, args: ['node_modules/resend-mcp/dist/index.js'], env, stderr: 'ignore' });
const client = new Client({ name: 'peer', version: '1.0.0' });
await client.connect(transport);
const { tools } = await client.listTools();

const editor = "needs the vendor's editor";
/** Why a tool isn't called. */
const reasons = Object.fromEntries(
  ['connect-to-editor', 'disconnect-from-editor', 'get-tiptap-json-content', 'compose-broadcast', 'compose-template'].map((tool) => [tool, editor]),
);
const ok = new Set();
// The text of the response; later calls need the IDs in it.
async function call(name, args = {}) {
  const answer = await client.callTool({ name, arguments: args });
  const text = answer.content.map((part) => part.text).join('\n');
  assert.ok(!answer.isError, `${name}: ${text}`);
  ok.add(name);
  return text;
}
const id = (text) => text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/)?.[0] ?? assert.fail(text);

const to = ['ada@example.com'];
const email = id(await call('send-email', { to, subject: 'MCP', text: 'It works', tags: [{ name: 'kind', value: 'peer' }] }));
await call('list-emails');
await call('get-email', { id: email });
const later = id(await call('send-email', { to, subject: 'Later', text: 'It works', scheduledAt: new Date(Date.now() + 3600e3).toISOString() }));
await call('update-email', { id: later, scheduledAt: new Date(Date.now() + 7200e3).toISOString() });
await call('cancel-email', { id: later });
const files = [{ filename: 'note.txt', content: 'YSBub3Rl' }];
const withFile = id(await call('send-email', { to, subject: 'A file', text: 'It works', attachments: files }));
const sentFile = id((await call('list-sent-email-attachments', { emailId: withFile })).replaceAll(withFile, ''));
await call('get-sent-email-attachment', { emailId: withFile, id: sentFile });
await call('send-batch-emails', { emails: [{ to, subject: 'Batch', text: 'It works' }] });

// Only the sandbox defines how mail arrives.
const arrived = await fetch(`${env.RESEND_BASE_URL}/_/received`, {
  method: 'POST',
  headers: { authorization: `Bearer ${env.RESEND_API_KEY}`, 'content-type': 'application/json' },
  body: JSON.stringify({ from: 'grace@example.com', to: 'help@acme.test', subject: 'A question', text: 'Where is it?',
    attachments: [{ filename: 'note.txt', content: 'YSBub3Rl' }] }),
});
const { id: received } = await arrived.json();
await call('list-received-emails');
await call('get-received-email', { id: received });
const file = id((await call('list-received-email-attachments', { emailId: received })).replaceAll(received, ''));
await call('get-received-email-attachment', { emailId: received, id: file });

const key = id(await call('create-api-key', { name: 'MCP' }));
await call('list-api-keys');
await call('remove-api-key', { id: key });

const domain = id(await call('create-domain', { name: 'mcp.test' }));
await call('list-domains');
await call('get-domain', { id: domain });
await call('update-domain', { id: domain, openTracking: true });
await call('verify-domain', { id: domain });
await call('remove-domain', { id: domain });

const segment = id(await call('create-segment', { name: 'Readers' }));
await call('list-segments');
await call('get-segment', { id: segment });
const topic = id(await call('create-topic', { name: 'News', defaultSubscription: 'opt_in' }));
await call('list-topics');
await call('get-topic', { id: topic });
await call('update-topic', { id: topic, name: 'Weekly' });
const property = id(await call('create-contact-property', { key: 'city', type: 'string' }));
await call('list-contact-properties');
await call('get-contact-property', { contactPropertyId: property });
await call('update-contact-property', { contactPropertyId: property, fallbackValue: 'your town' });
const contact = { email: 'ada@example.com' };
const person = id(await call('create-contact', { ...contact, firstName: 'Ada', properties: { city: 'London' } }));
await call('list-contacts');
await call('get-contact', { id: person });
await call('update-contact', { ...contact, lastName: 'Lovelace' });
await call('add-contact-to-segment', { ...contact, segmentId: segment });
await call('list-contact-segments', contact);
await call('update-contact-topics', { ...contact, topics: [{ id: topic, subscription: 'opt_out' }] });
await call('list-contact-topics', contact);

const broadcast = id(await call('create-broadcast', { name: 'Weekly', segmentId: segment, subject: 'Your week', text: 'Hello', from: 'hi@acme.test' }));
await call('list-broadcasts');
await call('get-broadcast', { broadcastId: broadcast });
await call('update-broadcast', { broadcastId: broadcast, subject: 'Your next week' });
await call('send-broadcast', { broadcastId: broadcast });
const draft = id(await call('create-broadcast', { name: 'Draft', segmentId: segment, subject: 'Draft', text: 'Hello' }));
await call('remove-broadcast', { broadcastId: draft });

const template = id(await call('create-template', { name: 'Welcome', html: '<p>Hello {{{NAME}}}</p>', subject: 'Welcome', variables: [{ key: 'NAME', type: 'string' }] }));
await call('list-templates');
await call('get-template', { id: template });
await call('update-template', { id: template, name: 'Welcome again' });
await call('publish-template', { id: template });
await call('remove-template', { id: id((await call('duplicate-template', { id: template })).split('\n').find((line) => !line.includes(template) && /[0-9a-f]{8}-/.test(line)) ?? template) });

const workflow = { steps: [
  { key: 'trigger', type: 'trigger', config: { eventName: 'user.created' }, next: 'send' },
  { key: 'send', type: 'send_email', config: { template: { id: template, variables: { NAME: 'Ada' } }, from: 'hi@acme.test' }, next: 'wait' },
  { key: 'wait', type: 'wait_for_event', config: { eventName: 'resend:email.delivered', timeout: '3 days' }, branches: { event_received: null, timeout: null } },
] };
const automation = id(await call('create-automation', { name: 'Welcome', status: 'enabled', workflow }));
await call('get-automation');
await call('get-automation', { id: automation });
await call('update-automation', { id: automation, name: 'Welcome again' });

const webhook = id(await call('create-webhook', { endpoint: 'https://acme.test/hooks', events: ['email.sent'] }));
await call('list-webhooks');
await call('get-webhook', { webhookId: webhook });
await call('update-webhook', { webhookId: webhook, status: 'disabled' });
await call('remove-webhook', { webhookId: webhook });

await call('manage-events', { action: 'create', name: 'user.created' });
await call('send-event', { event: 'user.created', email: 'ada@example.com' });
await call('get-automation-runs', { automationId: automation });
await call('remove-automation', { id: automation });
const log = id(await call('list-logs'));
await call('get-log', { logId: log });

await call('remove-contact-from-segment', { ...contact, segmentId: segment });
await call('remove-contact', contact);
await call('remove-contact-property', { contactPropertyId: property });
await call('remove-topic', { id: topic });
await call('remove-segment', { id: segment });

await client.close();
summary('resend-mcp', 'tools', tools.map((tool) => tool.name), ok, reasons);
