// The official program, `resend-cli`, run as in a script: with a key in the environment and JSON output.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const home = mkdtempSync(join(tmpdir(), 'resend-cli-'));
const env = {
  PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home, CI: '1', RESEND_API_KEY: 're_cli', RESEND_BASE_URL: process.env.PEER_BASE_URL,
  RESEND_NO_UPDATE_NOTIFIER: '1', RESEND_TELEMETRY_DISABLED: '1',
};
const program = 'node_modules/resend-cli/dist/cli.cjs';
const ok = new Set();

function run(command, ...args) {
  const words = [...command.split(' '), ...args.map(String)];
  let printed;
  try {
    printed = execFileSync(process.execPath, [program, '--json', ...words], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    assert.fail(`${words.join(' ')}: ${error.stdout}${error.stderr}`);
  }
  ok.add(command);
  return JSON.parse(printed);
}
const listed = (answer) => (answer.data ?? answer).map(({ id }) => id);

const email = ['--from', 'hi@acme.test', '--to', 'ada@example.com', '--subject', 'CLI', '--text', 'It works'];
const { id: sent } = run('emails send', ...email, '--tags', 'kind=peer', '--idempotency-key', 'one');
assert.equal(run('emails send', ...email, '--tags', 'kind=peer', '--idempotency-key', 'one').id, sent);
assert.equal(run('emails get', sent).subject, 'CLI');
assert.deepEqual(listed(run('emails list')), [sent]);
const { id: later } = run('emails send', ...email, '--scheduled-at', 'in 1 hour');
run('emails update', later, '--scheduled-at', new Date(Date.now() + 7200e3).toISOString());
run('emails cancel', later);
assert.deepEqual(listed(run('emails receiving list')), []);

const { id: key } = run('api-keys create', '--name', 'CLI');
assert.ok(listed(run('api-keys list')).includes(key));
run('api-keys delete', key, '--yes');

const { id: domain } = run('domains create', '--name', 'cli.test');
assert.equal(run('domains get', domain).name, 'cli.test');
assert.deepEqual(listed(run('domains list')), [domain]);
run('domains update', domain, '--open-tracking');
run('domains verify', domain);
run('domains delete', domain, '--yes');

const { id: segment } = run('segments create', '--name', 'Readers');
assert.equal(run('segments get', segment).name, 'Readers');
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

const content = ['--from', 'hi@acme.test', '--subject', 'Your week', '--segment-id', segment, '--text', 'Hello'];
const { id: broadcast } = run('broadcasts create', ...content);
assert.equal(run('broadcasts get', broadcast).subject, 'Your week');
run('broadcasts update', broadcast, '--subject', 'Your next week');
run('broadcasts send', broadcast);
const { id: draft } = run('broadcasts create', ...content);
assert.deepEqual(listed(run('broadcasts list')), [draft, broadcast]);
run('broadcasts delete', draft, '--yes');

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
run('automations stop', automation);
run('automations delete', automation, '--yes');
run('events delete', event, '--yes');

const { id: webhook } = run('webhooks create', '--endpoint', 'https://acme.test/hooks', '--events', 'email.sent');
assert.equal(run('webhooks get', webhook).id, webhook);
assert.deepEqual(listed(run('webhooks list')), [webhook]);
run('webhooks update', webhook, '--status', 'disabled');
run('webhooks delete', webhook, '--yes');
const [log] = listed(run('logs list'));
assert.equal(run('logs get', log).id, log);

run('contacts remove-segment', contact, segment);
run('contacts delete', contact, '--yes');
run('contact-properties delete', property, '--yes');
run('topics delete', topic, '--yes');
run('segments delete', segment, '--yes');

// Its whole command tree, except for commands that open the vendor's pages or keep running.
const nouns = ['emails', 'broadcasts', 'automations', 'events', 'templates', 'contacts', 'contact-properties', 'segments', 'topics', 'domains', 'logs', 'api-keys', 'webhooks'];
const leaves = ({ name, subcommands }, at) => (subcommands.length ? subcommands.flatMap((child) => leaves(child, [...at, name])) : [[...at, name].join(' ')]);
const tree = JSON.parse(execFileSync(process.execPath, [program, 'commands'], { env, encoding: 'utf8' }));
const all = tree.subcommands.filter(({ name }) => nouns.includes(name)).flatMap((noun) => leaves(noun, []));
const left = all.filter((command) => !ok.has(command));
console.log(`resend-cli: ${ok.size} of ${all.length} commands run, all ok; not run: ${left.join(', ')}`);
