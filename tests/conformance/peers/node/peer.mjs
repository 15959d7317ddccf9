// The npm client `resend`, unchanged but for its base address: the calls that it documents, a file a resource, each with a key of
// its own and so with a sandbox of its own.
import { Resend } from 'resend';

const stories = ['emails', 'templates', 'domains', 'contacts', 'broadcasts', 'automations', 'receiving', 'account'];

const called = new Set();
const methods = new Set();
// What TypeScript calls private.
const hidden = /^(append|build)|(Passthrough|Wrapped)$/;

// Notes which methods are called, of a client or of a part of it.
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
