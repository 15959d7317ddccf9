// npm `svix`, used as in its documentation: it verifies the sandbox's signatures, and `idempost` verifies its signatures.
// Usage: svix.mjs PROGRAM
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Webhook } from 'svix';

const program = process.argv[2];
const base = process.env.PEER_BASE_URL;
const work = mkdtempSync(join(tmpdir(), 'svix-'));

async function ask(method, path, body) {
  const headers = { authorization: 'Bearer re_svix', 'content-type': 'application/json' };
  const answer = await fetch(`${base}${path}`, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

// The library verifies the sandbox's signatures: every event type, an email that was really sent, and both secrets of a rotation.
const arrived = [];
let wake = () => {};
const receiver = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  arrived.push({ headers: request.headers, body: Buffer.concat(parts) });
  response.writeHead(204).end();
  wake();
});
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');

async function arrivals(count) {
  while (arrived.length < count) await new Promise((resolve) => (wake = resolve));
  return arrived.splice(0);
}

function event(verifier, { headers, body }) {
  verifier.verify(body, headers);
  return JSON.parse(body);
}

const types = (await ask('GET', '/_/events')).data;
const endpoint = `http://127.0.0.1:${receiver.address().port}/`;
const made = await ask('POST', '/webhooks', { endpoint, events: types });
const first = new Webhook(made.signing_secret);
for (const type of types) await ask('POST', '/_/events', { type, data: { note: 'é 漢 \u{1f680} <&>' } });
const deliveries = await arrivals(types.length);
assert.deepEqual(deliveries.map((delivery) => event(first, delivery).type).sort(), [...types].sort());
const { headers, body } = deliveries[0];
const tampered = Buffer.from(body);
tampered[body.length - 2] ^= 1;
assert.throws(() => first.verify(tampered, headers));
assert.throws(() => new Webhook('whsec_AAAA').verify(body, headers));
assert.throws(() => first.verify(body, { ...headers, 'svix-id': `${headers['svix-id']}x` }));

const email = { from: 'Acme <hi@acme.test>', to: 'ada@example.com', subject: 'Hello', text: 'It works' };
const { id } = await ask('POST', '/emails', email);
for (const delivery of await arrivals(2)) assert.equal(event(first, delivery).data.email_id, id);

const rotated = await ask('POST', `/webhooks/${made.id}/signing-secret/rotate`);
const second = new Webhook(rotated.signing_secret);
await ask('POST', '/_/events', { type: 'email.opened' });
const [both] = await arrivals(1);
for (const secret of [first, second]) assert.equal(event(secret, both).type, 'email.opened');
receiver.closeAllConnections();
receiver.close();

// `idempost` verifies the library's signatures: from files, and over a socket.
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const theirs = new Webhook(secret);
const file = (name, content) => {
  const path = join(work, name);
  writeFileSync(path, content);
  return path;
};
const secretFile = file('secret', `${secret}\n`);

function signed(id, payload) {
  const now = new Date();
  return {
    'svix-id': id,
    'svix-timestamp': String(Math.floor(now.getTime() / 1000)),
    'svix-signature': `v1a,unknown ${theirs.sign(id, now, payload)}`,
  };
}

function verify(headers, payload) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  const files = ['--headers', file('headers', lines.join('')), '--payload', file('payload', payload)];
  return spawnSync(program, ['webhooks', 'verify', '--secret-file', secretFile, ...files, '--jq', '.id'], { encoding: 'utf8' });
}

const payloads = ['{}', '{"type":"email.sent","data":{"subject":"é 漢 \u{1f680}"}}', 'no JSON\r\n', ' '];
for (const [n, payload] of payloads.entries()) {
  const right = verify(signed(`msg_${n}`, payload), payload);
  assert.deepEqual([right.status, right.stdout], [0, `msg_${n}\n`], right.stderr);
  assert.equal(verify(signed(`msg_${n}`, payload), `${payload}\n`).status, 3);
}

const listener = spawn(program, ['webhooks', 'listen', '--secret-file', secretFile, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
const lines = createInterface({ input: listener.stdout })[Symbol.asyncIterator]();
const next = async () => JSON.parse((await lines.next()).value);
const { url } = await next();
const post = (headers, body) => fetch(url, { method: 'POST', headers, body });
assert.equal((await post(signed('msg_1', payloads[1]), payloads[1])).status, 204);
assert.deepEqual({ type: (await next()).type }, { type: 'email.sent' });
assert.equal((await post(signed('msg_1', payloads[1]), payloads[0])).status, 401);
listener.kill('SIGTERM');
assert.deepEqual(await once(listener, 'exit'), [0, null]);
console.log(`npm svix: ${types.length} types of events, an email, a rotation, tampering; and its own signatures`);
