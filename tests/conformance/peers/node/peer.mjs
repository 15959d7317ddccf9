// The npm client `resend`, with only its base URL changed: a file per resource, each with its own API key and therefore its own sandbox
// account. Every public method is called, or listed here with a reason.
import { readFileSync } from 'node:fs';
import { Resend } from 'resend';
import { summary } from './summary.mjs';

const stories = [
  'emails', 'attachments', 'templates', 'domains', 'claims', 'contacts', 'imports', 'broadcasts', 'metrics', 'automations', 'receiving',
  'suppressions', 'account', 'webhooks', 'grants', 'inboxes',
];
/** Why a method isn't called. */
const reasons = {};

const called = new Set();
const methods = new Set();
const types = readFileSync('node_modules/resend/dist/index.d.mts', 'utf8');
const hidden = new Set(['constructor', ...[...types.matchAll(/^ {2}private (?:readonly )?(\w+)/gm)].map(([, name]) => name)]);

// Records the called methods of a client or of a part of it.
function counting(part, name = '') {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter((one) => !hidden.has(one) && typeof part[one] === 'function');
  for (const [key, inner] of Object.entries(part)) {
    if (inner && typeof inner === 'object' && !hidden.has(key)) counting(inner, `${name}${key}.`);
  }
  for (const method of own) {
    methods.add(`${name}${method}`);
    const call = part[method];
    part[method] = (...args) => {
      called.add(`${name}${method}`);
      return call.apply(part, args);
    };
  }
}

for (const story of stories) {
  const { default: tell } = await import(`./${story}.mjs`);
  const client = new Resend(`re_node_${story}`, { baseUrl: process.env.PEER_BASE_URL });
  counting(client);
  try {
    await tell(client);
  } catch (error) {
    console.error(`npm resend: ${story}`);
    throw error;
  }
}
summary('npm resend', 'methods', methods, called, reasons);
