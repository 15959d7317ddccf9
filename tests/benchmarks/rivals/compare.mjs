// Measures one service: `compare.mjs NAME BASE_URL SENDS PID EXPECTED`. The sandbox comes first and writes what each call of a story should
// result in; a method of a rival is ok if all of its calls succeed and fail as there, and has the same type if all responses have its fields.
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { execFileSync } from 'node:child_process';
import { Resend } from 'resend';

const [name, base, sends, pid, file] = process.argv.slice(2);
const isReference = name === 'sandbox';
globalThis.isRival = !isReference;
const expected = isReference ? {} : JSON.parse(readFileSync(file, 'utf8'));
const stories = readFileSync('peer.mjs', 'utf8').match(/const stories = \[([^\]]*)\]/)[1].match(/\w+/g);
const types = readFileSync('node_modules/resend/dist/index.d.mts', 'utf8');
const hidden = new Set(['constructor', ...[...types.matchAll(/^ {2}private (?:readonly )?(\w+)/gm)].map(([, one]) => one)]);

/** The fields of a response and their types, without its values. */
function shape(value) {
  if (Array.isArray(value)) return value.length ? [shape(value[0])] : [];
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, shape(value[key])]));
}

/** Whether a shape is that of the reference; empty lists and nulls are any. */
function fits(found, wanted) {
  if (found === 'null' || wanted === 'null') return true;
  if (Array.isArray(found) && Array.isArray(wanted)) return !found.length || !wanted.length || fits(found[0], wanted[0]);
  if (typeof found !== 'object' || typeof wanted !== 'object') return found === wanted;
  return Object.keys(wanted).every((key) => key in found && fits(found[key], wanted[key]));
}

// A service that never responds doesn't end the comparison.
const { fetch } = globalThis;
globalThis.fetch = (url, options) => fetch(url, { signal: AbortSignal.timeout(5000), ...options });

const results = {};
function record(part, path, story) {
  for (const [key, inner] of Object.entries(part)) {
    if (inner && typeof inner === 'object' && !hidden.has(key)) record(inner, `${path}${key}.`, story);
  }
  for (const method of Object.getOwnPropertyNames(Object.getPrototypeOf(part))) {
    if (hidden.has(method) || typeof part[method] !== 'function') continue;
    const call = part[method];
    part[method] = (...args) => {
      const answer = call.apply(part, args);
      if (typeof answer?.then !== 'function') return answer;
      // The answer itself is returned: some have further methods.
      const keep = (result) => ((results[`${path}${method}`] ??= {})[story] ??= []).push({ ok: !result?.error, shape: shape(result?.data ?? null) });
      answer.then(keep, (error) => keep({ error }));
      return answer;
    };
  }
}

for (const story of stories) {
  const client = new Resend(`re_rival_${story}`, { baseUrl: base });
  record(client, '', story);
  try {
    // Some stories wait for webhook deliveries, which others never send.
    const limit = new Promise((resolve) => setTimeout(resolve, 20_000));
    await Promise.race([(await import(`./${story}.mjs`)).default(client), limit]);
  } catch (error) {
    if (isReference) console.error(`${story}: ${error.message}`);
  }
}
if (isReference) writeFileSync(file, JSON.stringify(results));
const wanted = isReference ? results : expected;
let [ok, same] = [0, 0];
for (const [method, byStory] of Object.entries(wanted)) {
  const calls = Object.entries(byStory).flatMap(([story, calls]) => calls.map((call, place) => [call, results[method]?.[story]?.[place]]));
  const agrees = calls.every(([one, other]) => other && one.ok === other.ok);
  ok += agrees;
  same += agrees && calls.every(([one, other]) => !one.ok || fits(other.shape, one.shape));
}

const email = { from: 'Acme <hi@acme.test>', to: 'ada@example.com', subject: 'Hello', html: `<p>${'Thank you for your order. '.repeat(46)}</p>` };
const invalid = [
  {}, { ...email, from: undefined }, { ...email, to: undefined }, { ...email, subject: undefined }, { ...email, html: undefined },
  { ...email, from: 'nobody' }, { ...email, to: 'nobody' }, { ...email, to: [] }, { ...email, to: Array(51).fill('ada@example.com') },
  { ...email, to: 7 }, { ...email, cc: 'nobody' }, { ...email, reply_to: 'nobody' }, { ...email, subject: 7 }, { ...email, html: 7 },
  { ...email, scheduled_at: 'whenever' }, { ...email, scheduled_at: 'in 31 days' }, { ...email, tags: [{ name: 'a b', value: 'x' }] },
  { ...email, attachments: [{ filename: 'a.txt' }] }, { ...email, attachments: [{ filename: 'a.exe', content: 'AA==' }] }, { ...email, headers: 'x' },
];
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
const post = (body) => new Promise((resolve) => {
  const headers = { authorization: 'Bearer re_rival', 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const request = http.request(`${base}/emails`, { method: 'POST', headers, agent, timeout: 10_000 }, (answer) => {
    answer.resume().on('end', () => resolve(answer.statusCode));
  });
  request.on('timeout', () => request.destroy()).on('error', () => resolve(0)).end(body);
});
let refused = 0;
for (const one of invalid) {
  const status = await post(JSON.stringify(one));
  refused += status >= 400 && status < 500;
}

const body = JSON.stringify(email);
const start = performance.now();
let [left, sent] = [Number(sends), 0];
await Promise.all(Array.from({ length: 16 }, async () => {
  while (left-- > 0) {
    const status = await post(body);
    sent += status >= 200 && status < 300;
    // A service that refuses everything isn't measured to the end.
    if (!sent && Number(sends) - left > 200) return;
  }
}));
const pace = sent ? Math.round(sent / ((performance.now() - start) / 1000)) : '–';
// All processes of its session.
const resident = execFileSync('ps', ['-o', 'rss=', '-s', pid]).toString().trim().split(/\s+/).reduce((sum, one) => sum + Number(one), 0);
const cells = [`${ok}/${Object.keys(wanted).length}`, same, `${refused}/${invalid.length}`, pace, Math.round(resident / 1024)];
console.log(name.padEnd(13), ...cells.map((cell) => String(cell).padStart(9)));
process.exit(0);
