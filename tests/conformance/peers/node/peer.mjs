// The npm client `resend`, with only its base URL changed: the calls in its documentation, a file per resource, each with its own API key
// and therefore its own sandbox account.
import { Resend } from 'resend';

const stories = ['emails', 'templates', 'domains', 'contacts', 'broadcasts', 'automations', 'receiving', 'account'];

const called = new Set();
const methods = new Set();
// Private in TypeScript.
const hidden = /^(append|build)|(Passthrough|Wrapped)$/;

// Records the called methods of a client or of a part of it.
function counting(part, name = '') {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(part));
  for (const method of own.filter((one) => name && !hidden.test(one) && one !== 'constructor' && typeof part[one] === 'function')) methods.add(`${name}${method}`);
  for (const [key, value] of Object.entries(part)) {
    if (value && typeof value === 'object' && value !== client && key !== 'headers') counting(value, `${name}${key}.`);
  }
  for (const method of own.filter((one) => methods.has(`${name}${one}`))) {
    const call = part[method];
    part[method] = (...args) => {
      called.add(`${name}${method}`);
      return call.apply(part, args);
    };
  }
}

let client;
for (const story of stories) {
  const { default: tell } = await import(`./${story}.mjs`);
  client = new Resend(`re_node_${story}`, { baseUrl: process.env.PEER_BASE_URL });
  counting(client);
  try {
    await tell(client);
  } catch (error) {
    console.error(`npm resend: ${story}`);
    throw error;
  }
}
const left = [...methods].filter((method) => !called.has(method)).sort();
console.log(`npm resend: ${called.size} of ${methods.size} methods called, all ok`);
console.log(`  not called: ${left.join(', ')}`);
