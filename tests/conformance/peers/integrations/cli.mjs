// The official program, `resend-cli`, run as in a script: with JSON output and, except for the commands about its credentials, with a key in
// the environment. Every command is run, or listed here with a reason.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { login } from './login.mjs';
import { summary } from './summary.mjs';

/** Why a command isn't run. */
const reasons = {
  ...Object.fromEntries(['broadcasts', 'automations', 'events', 'templates', 'logs'].map((noun) => [`${noun} open`, "opens the vendor's dashboard"])),
  open: "opens the vendor's dashboard",
  docs: "opens the vendor's documentation",
  'careers list': "lists the vendor's own jobs",
  'careers apply': "applies for one of the vendor's own jobs",
  update: "asks GitHub for the program's own releases",
};

const home = mkdtempSync(join(tmpdir(), 'resend-cli-'));
const alone = {
  PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home, CI: '1', RESEND_BASE_URL: process.env.PEER_BASE_URL,
  RESEND_CREDENTIAL_STORE: 'file', RESEND_NO_UPDATE_NOTIFIER: '1', RESEND_TELEMETRY_DISABLED: '1',
};
const env = { ...alone, RESEND_API_KEY: 're_cli' };
const program = 'node_modules/resend-cli/dist/cli.cjs';
const ok = new Set();

function printed(env, command, args) {
  const words = [...command.split(' '), ...args.map(String)];
  try {
    const text = execFileSync(process.execPath, [program, '--json', ...words], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    ok.add(command);
    return text;
  } catch (error) {
    return assert.fail(`${words.join(' ')}: ${error.stdout}${error.stderr}`);
  }
}
const run = (command, ...args) => JSON.parse(printed(env, command, args));
// With the program's own credentials, without a key in the environment.
const stored = (command, ...args) => JSON.parse(printed(alone, command, args));
// A command that runs until it is interrupted: starts it, acts until its output contains the expected text, and interrupts it.
async function listen(command, args, act, expected) {
  const child = spawn(process.execPath, [program, '--json', ...command.split(' '), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const ended = once(child, 'exit');
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  for (let left = 300; left > 0 && !output.includes(expected); left -= 1) {
    if (left % 20 === 0) await act();
    await delay(100);
  }
  child.kill('SIGINT');
  await ended;
  assert.ok(output.includes(expected), `${command}: ${output}`);
  ok.add(command);
}
// Repeats a command until its output contains the expected text.
async function eventually(command, args, settled) {
  for (let left = 30; left > 0; left -= 1) {
    const answer = run(command, ...args);
    if (settled(answer)) return answer;
    await delay(100);
  }
  return assert.fail(`${command}: it did not come about`);
}
// While a command runs, this process doesn't notice that the sandbox closes a connection, but it does before the next request.
const idle = () => delay(10);
// A request made without the program, for actions that only the sandbox or another account can perform.
async function ask(key, path, body) {
  await idle();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${env.RESEND_BASE_URL}${path}`, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, await answer.clone().text());
  return answer.json();
}
const file = (name, content) => {
  const path = join(home, name);
  writeFileSync(path, content);
  return path;
};
const listed = (answer) => (answer.data ?? answer).map(({ id }) => id);

const email = ['--from', 'hi@acme.test', '--to', 'ada@example.com', '--subject', 'CLI', '--text', 'It works'];
const { id: sent } = run('emails send', ...email, '--tags', 'kind=peer', '--idempotency-key', 'one');
assert.equal(run('emails send', ...email, '--tags', 'kind=peer', '--idempotency-key', 'one').id, sent);
assert.equal(run('emails get', sent).subject, 'CLI');
assert.deepEqual(listed(run('emails list')), [sent]);
const { id: later } = run('emails send', ...email, '--scheduled-at', 'in 1 hour');
run('emails update', later, '--scheduled-at', new Date(Date.now() + 7200e3).toISOString());
run('emails cancel', later);
const batch = file('emails.json', JSON.stringify([{ from: 'hi@acme.test', to: ['ada@example.com'], subject: 'Batch', text: 'It works' }]));
assert.equal(run('emails batch', '--file', batch).length, 1);

const note = file('note.txt', 'a note');
const { id: withFile } = run('emails send', ...email, '--attachment', note);
const [sentFile] = listed(run('emails attachments', withFile));
assert.equal(run('emails attachment', withFile, sentFile).filename, 'note.txt');
assert.equal(run('emails share', withFile, '--expires-in', '1 day').id, withFile);
await eventually('emails metrics', ['--metrics', 'sent,delivered', '--dimensions', 'period'], ({ totals }) => totals.delivered === 3);

// Only the sandbox defines how mail arrives.
const mail = { from: 'grace@example.com', to: 'help@acme.test', subject: 'A question', text: 'Where is it?' };
const { id: received } = await ask('re_cli', '/_/received', { ...mail, attachments: [{ filename: 'note.txt', content: 'YSBub3Rl' }] });
assert.deepEqual(listed(run('emails receiving list')), [received]);
assert.equal(run('emails receiving get', received).subject, 'A question');
const [receivedFile] = listed(run('emails receiving attachments', received));
assert.equal(run('emails receiving attachment', received, receivedFile).filename, 'note.txt');
const { id: forwarded } = run('emails receiving forward', received, '--to', 'bob@example.com', '--from', 'help@acme.test');
assert.equal(run('emails get', forwarded).subject, 'A question');
const receive = (subject) => ask('re_cli', '/_/received', { ...mail, subject });
await listen('emails receiving listen', ['--interval', '2'], () => receive('Another question'), 'Another question');

const { id: suppression } = run('suppressions add', 'spam@example.com');
assert.equal(run('suppressions get', 'spam@example.com').id, suppression);
const two = file('suppressions.json', '["bob@example.com","eve@example.com"]');
const [bob, eve] = listed(run('suppressions batch add', '--file', two));
assert.deepEqual(listed(run('suppressions list', '--origin', 'manual')).sort(), [suppression, bob, eve].sort());
assert.deepEqual(listed(run('suppressions batch remove', '--file', file('ids.json', JSON.stringify([bob])), '--ids')), [bob]);
run('suppressions delete', 'spam@example.com', '--yes');

const { id: key } = run('api-keys create', '--name', 'CLI');
assert.ok(listed(run('api-keys list')).includes(key));
run('api-keys update', key, '--name', 'Build');
run('api-keys delete', key, '--yes');

await idle();
await login({ baseUrl: env.RESEND_BASE_URL, key: 're_cli' });
const [grant] = listed(run('oauth-grants list'));
assert.notEqual(run('oauth-grants revoke', grant, '--yes').revoked_at, null);

const { id: domain } = run('domains create', '--name', 'cli.test');
assert.equal(run('domains get', domain).name, 'cli.test');
assert.deepEqual(listed(run('domains list')), [domain]);
run('domains update', domain, '--open-tracking');
run('domains verify', domain);
run('domains delete', domain, '--yes');

const { id: taken } = await ask('re_cli_owner', '/domains', { name: 'cli-claimed.test' });
await ask('re_cli_owner', `/domains/${taken}/verify`, {});
for (let status; status !== 'verified'; ({ status } = await ask('re_cli_owner', `/domains/${taken}`))) await delay(100);
const claim = run('domains claim create', '--name', 'cli-claimed.test', '--region', 'eu-west-1');
assert.equal(run('domains claim get', claim.domain_id).id, claim.id);
run('domains claim verify', claim.domain_id);

const { id: segment } = run('segments create', '--name', 'Readers');
assert.equal(run('segments get', segment).name, 'Readers');
run('segments update', segment, '--name', 'Weekly readers');
assert.deepEqual(listed(run('segments list')), [segment]);
const { id: topic } = run('topics create', '--name', 'News', '--default-subscription', 'opt_in');
run('topics update', topic, '--name', 'Offers');
assert.equal(run('topics get', topic).name, 'Offers');
assert.deepEqual(listed(run('topics list')), [topic]);
const { id: property } = run('contact-properties create', '--key', 'city', '--type', 'string');
run('contact-properties update', property, '--fallback-value', 'your town');
assert.equal(run('contact-properties get', property).key, 'city');
assert.deepEqual(listed(run('contact-properties list')), [property]);
const { id: contact } = run('contacts create', '--email', 'ada@example.com', '--first-name', 'Ada', '--properties', '{"city":"London"}');
assert.equal(run('contacts get', contact).first_name, 'Ada');
assert.deepEqual(listed(run('contacts list')), [contact]);
run('contacts update', contact, '--unsubscribed');
run('contacts add-segment', contact, '--segment-id', segment);
assert.deepEqual(listed(run('contacts segments', contact)), [segment]);
assert.deepEqual(listed(run('segments contacts', segment)), [contact]);
run('contacts update-topics', contact, '--topics', JSON.stringify([{ id: topic, subscription: 'opt_out' }]));
assert.deepEqual(listed(run('contacts topics', contact)), [topic]);
const csv = file('contacts.csv', 'Mail,Given\nimported@example.com,Bea\n');
const mapped = ['--column-map', '{"email":"Mail","firstName":"Given"}', '--on-conflict', 'skip', '--segment-id', segment];
const imported = run('contacts imports create', '--file', csv, ...mapped, '--topics', JSON.stringify([{ id: topic, subscription: 'opt_in' }]));
const { counts } = await eventually('contacts imports get', [imported.id], ({ status }) => status === 'completed');
assert.deepEqual(counts, { total: 1, created: 1, updated: 0, skipped: 0, failed: 0 });
assert.deepEqual(listed(run('contacts imports list', '--status', 'completed')), [imported.id]);

const content = ['--from', 'hi@acme.test', '--subject', 'Your week', '--segment-id', segment, '--text', 'Hello'];
const { id: broadcast } = run('broadcasts create', ...content);
assert.equal(run('broadcasts get', broadcast).subject, 'Your week');
run('broadcasts update', broadcast, '--subject', 'Your next week');
run('broadcasts send', broadcast);
const { id: draft } = run('broadcasts create', ...content);
assert.deepEqual(listed(run('broadcasts list')), [draft, broadcast]);
const { id: copy } = run('broadcasts duplicate', draft);
run('broadcasts send', copy, '--scheduled-at', 'in 1 hour');
run('broadcasts cancel', copy);
for (const unsent of [copy, draft]) run('broadcasts delete', unsent, '--yes');
await eventually('broadcasts recipients', [broadcast, '--type', 'delivered'], ({ data }) => data.some((one) => one.email === 'imported@example.com'));
assert.deepEqual(listed(run('broadcasts clicked-links', broadcast)), []);

const { id: template } = run('templates create', '--name', 'Welcome', '--subject', 'Welcome', '--from', 'hi@acme.test', '--html', '<p>Hello</p>');
run('templates update', template, '--name', 'Welcome again');
run('templates publish', template);
assert.equal(run('templates get', template).name, 'Welcome again');
run('templates delete', run('templates duplicate', template).id, '--yes');
assert.deepEqual(listed(run('templates list')), [template]);

const { id: event } = run('events create', '--name', 'user.created');
run('events update', event, '--schema', '{"plan":"string"}');
assert.equal(run('events get', event).name, 'user.created');
assert.deepEqual(listed(run('events list')), [event]);
const steps = JSON.stringify([
  { key: 'start', type: 'trigger', config: { eventName: 'user.created' } },
  { key: 'send', type: 'send_email', config: { template: { id: template } } },
]);
const { id: automation } = run('automations create', '--name', 'Welcome', '--status', 'enabled', '--steps', steps, '--connections', '[{"from":"start","to":"send"}]');
run('events send', '--event', 'user.created', '--email', 'ada@example.com', '--payload', '{"plan":"pro"}');
const [one] = listed(run('automations runs list', automation));
assert.equal(run('automations runs get', '--automation-id', automation, '--run-id', one).id, one);
assert.equal(run('automations get', automation).name, 'Welcome');
assert.deepEqual(listed(run('automations list')), [automation]);
run('automations update', automation, '--status', 'disabled');
run('automations delete', run('automations duplicate', automation).id, '--yes');
run('automations stop', automation);
run('automations delete', automation, '--yes');
run('events delete', event, '--yes');

const { id: webhook } = run('webhooks create', '--endpoint', 'https://acme.test/hooks', '--events', 'email.sent');
assert.equal(run('webhooks get', webhook).id, webhook);
assert.deepEqual(listed(run('webhooks list')), [webhook]);
run('webhooks update', webhook, '--status', 'disabled');
run('webhooks update', webhook, '--status', 'enabled');
assert.ok(run('webhooks rotate-signing-secret', webhook).signing_secret.startsWith('whsec_'));
run('emails send', ...email);
const [delivery] = listed(run('webhooks events list', webhook));
assert.equal(run('webhooks events get', webhook, delivery).type, 'email.sent');
run('webhooks events replay', webhook, delivery);
listed(run('webhooks events attempts', webhook, delivery));
run('webhooks delete', webhook, '--yes');
const free = createServer().listen(0, '127.0.0.1');
await once(free, 'listening');
const { port } = free.address();
await new Promise((resolve) => free.close(resolve));
const listening = ['--url', `http://127.0.0.1:${port}`, '--port', `${port}`, '--events', 'email.sent'];
await listen('webhooks listen', listening, () => ask('re_cli', '/emails', { ...mail, from: 'hi@acme.test', subject: 'Listening' }), 'email.sent');
assert.deepEqual(listed(run('webhooks list')), []);
const [log] = listed(run('logs list'));
assert.equal(run('logs get', log).id, log);

run('contacts remove-segment', contact, segment);
run('contacts delete', contact, '--yes');
run('contact-properties delete', property, '--yes');
run('topics delete', topic, '--yes');
run('segments delete', segment, '--yes');

// The commands about the program itself and its credentials.
assert.equal(run('whoami').source, 'env');
assert.equal(run('doctor').ok, true);
assert.ok(printed(env, 'completion', ['bash']).includes('complete -o default'));
stored('login', '--key', 're_cli_first');
stored('auth login', '--key', 're_cli_second', '--profile', 'second');
stored('auth switch', 'default');
stored('auth rename', 'second', 'third');
assert.deepEqual(stored('auth list').profiles.map(({ name, active }) => [name, active]), [['default', true], ['third', false]]);
stored('auth remove', 'third');
stored('auth logout');
stored('login', '--key', 're_cli_first');
stored('logout');

const leaves = ({ name, subcommands }) => (subcommands.length ? subcommands.flatMap(leaves).map((rest) => `${name} ${rest}`) : [name]);
const all = run('commands').subcommands.flatMap(leaves);
summary('resend-cli', 'commands', all, ok, reasons);
