// The library in Node.js, against the sandbox and against services that fail. WASM is the folder of the built library.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';

const { Mail, verify } = await import(`${process.env.WASM}/wasm.js`);
const SECONDS_10 = 10_000;

// Starts a service, and returns its address and the requests that it has received.
async function service(context, answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const { headers, url } = request;
    const body = Buffer.concat(await request.toArray()).toString();
    requests.push({ key: headers['idempotency-key'], authorization: headers.authorization, body, url, at: Date.now() });
    answer(requests.length, response, url);
  });
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { at: `http://127.0.0.1:${server.address().port}`, requests, server };
}

test('the sandbox accepts emails, each key once, and lists them', async () => {
  const mail = new Mail(process.env.IDEMPOST_BASE_URL, SECONDS_10);
  const first = await mail.send('one', 'order-1');
  assert.equal(await mail.send('one', 'order-1'), first);
  await Promise.all([mail.send('two'), mail.send('three')]);
  assert.deepEqual((await mail.subjects()).sort(), ['one', 'three', 'two']);
});

test('an error of the service is typed', async () => {
  const mail = new Mail(process.env.IDEMPOST_BASE_URL, SECONDS_10);
  await mail.send('one', 'order-2');
  await assert.rejects(mail.send('other', 'order-2'), /Rejected: .* 409 invalid_idempotent_request/);
});

test('a retry waits, and repeats key and body', async (context) => {
  const { at, requests } = await service(context, (count, response) => {
    response.writeHead(count === 1 ? 503 : 200, { 'content-type': 'application/json' });
    response.end(count === 1 ? '{}' : '{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}');
  });
  assert.equal(await new Mail(at, SECONDS_10).send('Hello'), '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794');
  const [before, after] = requests;
  assert.equal(requests.length, 2);
  assert.ok(before.key && before.key === after.key && before.body === after.body);
  assert.equal(before.authorization, 'Bearer re_wasm');
  assert.equal(JSON.parse(before.body).attachments[0].content, Buffer.from('kilobytes').toString('base64'));
  assert.ok(after.at - before.at >= 100, `${after.at - before.at} ms`);
});

test('a deadline ends a call, and its request', async (context) => {
  const { at, requests, server } = await service(context, () => {});
  const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'));
  const begun = Date.now();
  await assert.rejects(new Mail(at, 500).send('Hello'), /^Error: Unknown: /);
  assert.ok(Date.now() - begun >= 500);
  assert.equal(requests.length, 1);
  await closed;
});

test('a response that a redirect led to does not count', async (context) => {
  const { at, requests } = await service(context, (count, response, url) => {
    response.writeHead(url === '/login' ? 200 : 302, { location: '/login', 'content-type': 'application/json' });
    response.end('{"object":"list","has_more":false,"data":[]}');
  });
  await assert.rejects(new Mail(at, 500).subjects());
  assert.equal(requests[1].url, '/login');
  // A request with a body isn't repeated elsewhere.
  requests.length = 0;
  await assert.rejects(new Mail(at, 500).send('Hello'), /^Error: Unknown: /);
  assert.ok(requests.length > 0 && requests.every(({ url, body }) => url === '/emails' || body === ''));
});

test('a webhook request is verified by the time of day', () => {
  const key = Buffer.from('a secret of twenty-four b');
  const secret = `whsec_${key.toString('base64')}`;
  const signed = (seconds) => {
    const signature = createHmac('sha256', key).update(`msg_1.${seconds}.{}`).digest('base64');
    return verify(secret, 'msg_1', `${seconds}`, `v1,${signature}`, '{}');
  };
  const now = Math.floor(Date.now() / 1000);
  assert.equal(signed(now), 'msg_1');
  assert.throws(() => signed(now - 600));
});
