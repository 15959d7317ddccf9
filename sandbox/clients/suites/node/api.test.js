// What the runners' suites leave out: starting and stopping, joining, and errors. For `node --test`.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Sandbox, SandboxError } from 'idempost-sandbox';
import { Resend } from 'resend';

const EMAIL = { from: 'Acme <hi@acme.test>', to: 'ada@example.com', subject: 'Welcome', text: 'Your code is 123456.' };

function resendOf(inbox) {
  return new Resend(inbox.key, { baseUrl: inbox.env.RESEND_BASE_URL });
}

/** Waits until nothing listens at a URL. */
async function gone(url) {
  for (const end = Date.now() + 10_000; Date.now() < end; await pause(20)) {
    const reachable = await fetch(`${url}/healthz`).then((response) => response.ok, () => false);
    if (!reachable) return;
  }
  assert.fail(`${url} still runs`);
}

describe('starting and stopping', () => {
  test('a sandbox stops when the program that started it is killed', async () => {
    const starter = spawn(process.execPath, ['starter.mjs'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const url = String((await once(starter.stdout, 'data'))[0]).trim();
    assert.ok((await fetch(`${url}/healthz`)).ok);
    starter.kill('SIGKILL');
    await gone(url);
  });

  test('a program can exit while its sandbox runs', async () => {
    const script = "import { Sandbox } from 'idempost-sandbox'; console.log((await Sandbox.start()).url)";
    const url = await new Promise((resolve, reject) => {
      execFile(process.execPath, ['--input-type=module', '-e', script], { timeout: 20_000 }, (error, output) => {
        if (error) reject(error);
        else resolve(output.trim());
      });
    });
    await gone(url);
  });

  test('stop ends the sandbox, and can be repeated', async () => {
    const sandbox = await Sandbox.start();
    await sandbox.stop();
    await sandbox.stop();
    await gone(sandbox.url);
    await assert.rejects(sandbox.inbox().list(), { code: 'unreachable', message: /can't be reached .*ECONNREFUSED/ });
  });

  test('a missing program is an error that says how to install it', async () => {
    const missing = { code: 'program_missing', message: /^The program `no-such-program` doesn't exist\. Install it with `cargo install/ };
    await assert.rejects(Sandbox.start({ binary: 'no-such-program' }), missing);
  });

  test('another program and wrong arguments are errors with their reasons', async () => {
    await assert.rejects(Sandbox.start({ binary: 'echo' }), { code: 'start_failed', message: /^`echo` isn't the program of this package/ });
    const program = join(tmpdir(), `idempost-other-${process.pid}`);
    for (const output of ['{"name":"another"}', 'null']) {
      writeFileSync(program, `#!/bin/sh\necho '${output}'\nsleep 600; exit\n`, { mode: 0o755 });
      const other = { code: 'start_failed', message: `\`${program}\` isn't the program of this package; it printed: ${output}` };
      await assert.rejects(Sandbox.start({ binary: program }), other);
    }
    await assert.rejects(Sandbox.start({ args: ['--nope'] }), { code: 'start_failed', message: /unknown argument `--nope`$/ });
  });

  test('the variables of a shell neither forward mail nor set a password', async () => {
    const program = join(tmpdir(), `idempost-${process.pid}`);
    const key = '${IDEMPOST_SANDBOX_FORWARD-none}${IDEMPOST_SANDBOX_RELEASE-none}${IDEMPOST_SANDBOX_AUTH-none}';
    writeFileSync(program, `#!/bin/sh\necho '{"base_url":"http://127.0.0.1:9","api_key":"'"${key}"'"}'\n`, { mode: 0o755 });
    process.env.IDEMPOST_SANDBOX_FORWARD = 'smtp://mail.example';
    process.env.IDEMPOST_SANDBOX_RELEASE = 'smtp://mail.example';
    process.env.IDEMPOST_SANDBOX_AUTH = 'correct-horse';
    try {
      assert.equal((await Sandbox.start({ binary: program })).key, 'nonenonenone');
    } finally {
      delete process.env.IDEMPOST_SANDBOX_FORWARD;
      delete process.env.IDEMPOST_SANDBOX_RELEASE;
      delete process.env.IDEMPOST_SANDBOX_AUTH;
    }
  });

  test('CommonJS loads the same classes', () => {
    assert.equal(createRequire(import.meta.url)('idempost-sandbox').Sandbox, Sandbox);
  });
});

describe('joining', () => {
  test('a sandbox with a password is joined with it, and its inboxes have keys with it', async () => {
    // As in a container: on all addresses, under a name.
    const args = ['--host=0.0.0.0', '--allow-host=mail'];
    const started = await Sandbox.start({ password: 'correct-horse', args });
    await assert.rejects(Sandbox.join(started.url), { code: 'key_rejected', message: /Pass its password/ });
    const joined = await Sandbox.join(started.url, { password: 'correct-horse' });
    const inbox = joined.inbox();
    assert.match(inbox.key, /^sb_correct-horse_/);
    await resendOf(inbox).emails.send(EMAIL);
    assert.equal((await inbox.waitFor()).code, '123456');
    await joined.stop();
    assert.ok((await fetch(`${started.url}/healthz`)).ok, 'only the program that started a sandbox stops it');
    await started.stop();
  });

  test('without a password, --host is refused unless --insecure says so', async () => {
    await assert.rejects(Sandbox.start({ args: ['--host=0.0.0.0'] }), { code: 'start_failed', message: /--auth.*--insecure/ });
  });

  test('a URL without a scheme is rejected', async () => {
    for (const url of ['localhost:4010', '127.0.0.1:4010']) {
      const message = `The URL of a sandbox must begin with http:// or https://; found "${url}".`;
      await assert.rejects(Sandbox.join(url), { code: 'usage', message });
    }
  });

  test('a server that is no sandbox gets no key', async () => {
    const keys = [];
    const server = createServer((request, response) => {
      keys.push(request.headers.authorization);
      response.writeHead(404).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${server.address().port}`;
    await assert.rejects(Sandbox.join(url, { key: 're_live' }), { code: 'not_a_sandbox', message: /isn't a sandbox/ });
    assert.deepEqual(keys, ['Bearer sb_local']);
    server.close();
  });
});

describe('the network', () => {
  test('an IPv6 address has no brackets where it is a host', async () => {
    const sandbox = await Sandbox.start({ args: ['--host=::1', '--smtp-port=0'] });
    assert.deepEqual([sandbox.smtp.host, sandbox.env.SMTP_HOST], ['::1', '::1']);
    const connection = connect(sandbox.smtp);
    await once(connection, 'data');
    connection.destroy();
    assert.deepEqual(await sandbox.inbox().list(), []);
    await sandbox.stop();
  });

  test('a proxy gets neither the requests of the tests nor those of the application', async () => {
    const names = ['HTTP_PROXY', 'NO_PROXY', 'no_proxy'];
    const before = names.map((name) => [name, process.env[name]]);
    const sandbox = await Sandbox.start();
    try {
      for (const name of names) delete process.env[name];
      assert.equal(sandbox.env.NO_PROXY, undefined, "the system's proxies stay in use");
      process.env.HTTP_PROXY = 'http://127.0.0.1:9';
      for (const [list, expected] of [
        ['', '127.0.0.1'],
        ['corp.test', 'corp.test,127.0.0.1'],
        ['corp.test, 127.0.0.1', 'corp.test, 127.0.0.1'],
        ['*', '*'],
      ]) {
        process.env.NO_PROXY = list;
        assert.deepEqual([sandbox.env.NO_PROXY, sandbox.inbox().env.no_proxy], [expected, expected]);
      }
      assert.deepEqual(await sandbox.inbox().list(), []);
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      await sandbox.stop();
    }
  });
});

describe('the API', () => {
  let sandbox;
  before(async () => {
    sandbox = await Sandbox.start({ args: ['--smtp-port=0'] });
  });
  after(() => sandbox.stop());

  test('the variables are those of `sandbox run`', () => {
    const { url, smtp } = sandbox;
    assert.deepEqual(sandbox.env, {
      IDEMPOST_BASE_URL: url,
      IDEMPOST_API_KEY: 'sb_local',
      RESEND_BASE_URL: `${url}/`,
      RESEND_API_URL: url,
      RESEND_API_KEY: 'sb_local',
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(smtp.port),
    });
  });

  test('a mail has its fields, and filters find it', async () => {
    const inbox = sandbox.inbox();
    const resend = resendOf(inbox);
    const to = inbox.address('ünïcode');
    assert.notEqual(to, inbox.address('ünïcode'));
    const address = inbox.address('ada');
    const { data } = await resend.emails.send({
      ...EMAIL,
      to: address,
      subject: 'Grüße & more',
      html: '<p>Code: 123456</p>',
      tags: [{ name: 'kind', value: 'a_b' }],
      attachments: [{ filename: 'a.txt', content: Buffer.from('hello').toString('base64') }],
    });
    for (const filter of [{ to: address }, { from: 'Acme' }, { subject: 'GRÜSSE'.replace('SS', 'ß') }, { tag: { kind: 'a_b' } }, { query: 'code grüße' }]) {
      const mail = await inbox.waitFor({ ...filter, timeout: '2s' });
      assert.equal(mail.emailId, data.id, JSON.stringify(filter));
    }
    const mail = await inbox.get(data.id);
    assert.deepEqual([mail.from, mail.to, mail.subject, mail.tags], [EMAIL.from, [address], 'Grüße & more', { kind: 'a_b' }]);
    assert.deepEqual(mail.attachments, [{ filename: 'a.txt', contentType: 'text/plain', size: 5 }]);
    assert.ok(Math.abs(mail.createdAt - Date.now()) < 60_000);
    assert.match(await mail.source(), /^From: /);
    assert.equal(mail.header('TO'), address);
    assert.deepEqual(await inbox.list({ tag: { kind: 'other' } }), []);
    await mail.record('bounced');
    assert.equal((await inbox.list())[0].lastEvent, 'bounced');
    await inbox.clear();
    assert.deepEqual(await inbox.list(), []);
  });

  test('a list has all pages', async () => {
    const inbox = sandbox.inbox();
    for (const _ of [1, 2, 3]) await resendOf(inbox).batch.send(Array.from({ length: 70 }, () => EMAIL));
    const mails = await inbox.list();
    assert.equal(new Set(mails.map(({ id }) => id)).size, 210);
  });

  test('a list continues after mails that are deleted while it is read', async () => {
    const inbox = sandbox.inbox();
    for (const _ of [1, 2, 3]) await resendOf(inbox).batch.send(Array.from({ length: 70 }, () => EMAIL));
    const { request } = inbox;
    inbox.request = async (...page) => {
      const read = await request.apply(inbox, page);
      inbox.request = request;
      for (const { id } of read.data.slice(-2)) await request.call(inbox, 'DELETE', `/_/messages/${id}`);
      return read;
    };
    const ids = (mails) => mails.map(({ id }) => id);
    assert.deepEqual(ids(await inbox.list()), ids(await inbox.list()));
  });

  test('a timeout names the filter and what arrived instead', async () => {
    const inbox = sandbox.inbox();
    await resendOf(inbox).emails.send(EMAIL);
    await resendOf(inbox).emails.send({ ...EMAIL, subject: 'Later', scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
    await assert.rejects(inbox.waitFor({ to: 'bob@example.com', subject: 'Hi', timeout: 50 }), (error) => {
      assert.ok(error instanceof SandboxError);
      assert.equal(error.code, 'timeout');
      assert.equal(
        error.message,
        [
          'No mail with to "bob@example.com", subject "Hi" within 0.05 s.',
          'Mails of this inbox, newest first:',
          '  "Welcome" from Acme <hi@acme.test> to ada@example.com',
          'Emails that were not sent:',
          '  "Later" from Acme <hi@acme.test> to ada@example.com (scheduled)',
        ].join('\n'),
      );
      return true;
    });
    await assert.rejects(sandbox.inbox().waitFor({ timeout: 50 }), /This inbox is empty: .*\nOther keys of the sandbox have mails:\n {2}sb_/);
  });

  test('a mail without a code or link says what it has', async () => {
    const inbox = sandbox.inbox();
    await resendOf(inbox).emails.send({ ...EMAIL, text: undefined, html: 'See <a href="https://acme.test/a">Details</a>' });
    const mail = await inbox.waitFor();
    assert.throws(() => mail.code, { code: 'no_code', message: /^The mail "Welcome" to ada@example.com contains no code\. Its text:\nSee/ });
    assert.throws(() => mail.link('Verify'), {
      code: 'no_link',
      message: 'The mail "Welcome" to ada@example.com contains no link that matches "Verify". Its links:\n  "Details" https://acme.test/a',
    });
    assert.equal(mail.link(), 'https://acme.test/a');
  });

  test('faults are added in the words of the program, used up, and removed', async () => {
    const inbox = sandbox.inbox();
    const status = async () => (await fetch(`${sandbox.url}/domains`, { headers: { authorization: `Bearer ${inbox.key}` } })).status;
    const fault = await sandbox.fail('GET /domains', { status: 503, name: 'custom', times: 2 });
    assert.equal(fault.clientGets, '503 custom');
    assert.deepEqual([await status(), await status(), await status()], [503, 503, 200]);
    await fault.remove();
    await sandbox.fail('/domains', { rateLimit: true, retryAfter: 2, after: 1 });
    assert.deepEqual([await status(), await status(), await status()], [200, 429, 200]);
    await sandbox.fail({ drop: true, always: true });
    await assert.rejects(status());
    await sandbox.restore();
    assert.equal(await status(), 200);
    for (const words of [{ lose: true }, { truncate: 3 }, { stall: true }, { slow: '1m 30s' }, { rotateThenLose: true }, { percent: 30 }]) {
      await sandbox.fail(words.rotateThenLose ? '' : 'get /domains', words);
    }
    assert.match((await sandbox.fail('SMTP rcpt', { code: 451, times: 3 })).clientGets, /451/);
    await sandbox.restore();
    const usage = (message) => ({ code: 'usage', message });
    await assert.rejects(sandbox.fail('POST /emails', { statuss: 503 }), usage(/`statuss` isn't an option of fail/));
    await assert.rejects(sandbox.fail('POST /emails', { drop: true, lose: true }), usage(/can't be used together/));
    await assert.rejects(sandbox.fail('POST /emails', { slow: '2 weeks' }), usage(/found "2 weeks"/));
    await assert.rejects(sandbox.fail('POST /emails now'), usage(/found "POST \/emails now"/));
    await assert.rejects(sandbox.fail('POST /nowhere'), { status: 422 });
    await assert.rejects(inbox.waitFor({ too: 'ada' }), usage(/`too` isn't a filter/));
    await assert.rejects(inbox.waitFor({ subject: /Welcome/ }), usage(/^`subject` must be text; found \/Welcome\/\.$/));
    await assert.rejects(inbox.list({ to: ['ada@example.com'] }), usage(/^`to` must be text; found \[ 'ada@example.com' \]\.$/));
  });

  test('the clock moves, and is restored', async () => {
    const inbox = sandbox.inbox();
    await resendOf(inbox).emails.send({ ...EMAIL, scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
    assert.deepEqual(await inbox.list(), []);
    assert.ok((await sandbox.clock.advance('1h 30m')).aheadSeconds > 5_000);
    assert.equal((await inbox.waitFor()).subject, 'Welcome');
    const day = new Date('2030-01-01T00:00:00Z');
    await sandbox.clock.freeze();
    const set = await sandbox.clock.set(day);
    assert.deepEqual([set.now, set.frozen], [day, true]);
    await sandbox.clock.scale(60);
    await sandbox.restore();
    const { frozen, scale, aheadSeconds } = await sandbox.clock.show();
    assert.deepEqual([frozen, scale, Math.round(aheadSeconds / 60) + 0], [false, 1, 0]);
  });

  test('the clock of an inbox concerns no other, and is restored', async () => {
    const [inbox, other] = [sandbox.inbox(), sandbox.inbox()];
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    for (const one of [inbox, other]) await resendOf(one).emails.send({ ...EMAIL, scheduledAt });
    assert.ok((await inbox.clock.advance('1h 30m')).aheadSeconds > 5_000);
    assert.equal((await inbox.waitFor()).subject, 'Welcome');
    assert.deepEqual(await other.list(), []);
    assert.equal(Math.round((await sandbox.clock.show()).aheadSeconds / 60) + 0, 0);
    await sandbox.restore();
    assert.equal(Math.round((await inbox.clock.show()).aheadSeconds / 60) + 0, 0);
  });

  test('mails are received and events sent', async () => {
    const inbox = sandbox.inbox();
    const resend = resendOf(inbox);
    const id = await inbox.receive({ from: 'ada@example.com', to: 'support@acme.test', subject: 'Help', text: 'It broke' }, { dkim: 'pass' });
    assert.equal((await resend.emails.receiving.get(id)).data.subject, 'Help');
    const raw = await inbox.receive('From: a@b.test\r\nSubject: Raw\r\n\r\nHi', { to: ['x@acme.test', 'y@acme.test'] });
    assert.equal((await resend.emails.receiving.get(raw)).data.subject, 'Raw');
    assert.deepEqual(await inbox.trigger('email.bounced'), []);
    await resend.webhooks.create({ endpoint: 'http://127.0.0.1:9/', events: ['email.bounced'] });
    assert.match((await inbox.trigger('email.bounced', { bounce: { type: 'Transient' } }))[0].eventId, /^msg_/);
    await inbox.reset();
    assert.deepEqual((await resend.webhooks.list()).data.data, []);
  });
});
