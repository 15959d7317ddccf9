'use strict';

// What the set-ups of Vitest and Jest share. The main process starts the sandboxes, one per worker, so that also faults and clocks are
// separate, and passes them to the workers in the environment.

const { SandboxError } = require('./errors.cjs');
const { Sandbox } = require('./sandbox.cjs');

const VARIABLE = 'IDEMPOST_SANDBOXES';
const CURRENT = Symbol.for('idempost-sandbox.current');
let running;

/** For the main process: starts a sandbox per worker, or joins that of IDEMPOST_BASE_URL. Returns a function that stops them. */
async function startAll(workers) {
  // Another project of the same run has started them.
  if (running) return async () => {};
  const joined = process.env.IDEMPOST_BASE_URL ? await Sandbox.join() : undefined;
  const started = joined ? [joined] : await Promise.all(Array.from({ length: Math.max(1, workers) }, () => Sandbox.start()));
  running = started;
  const env = { ...started[0].env, [VARIABLE]: JSON.stringify(started.map(({ url, key }) => ({ url, key }))) };
  const before = Object.keys(env).map((name) => [name, process.env[name]]);
  Object.assign(process.env, env);
  return async () => {
    running = undefined;
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    await Promise.all(started.map((sandbox) => sandbox.stop()));
  };
}

/** For a worker, before its tests are loaded: points the environment to an inbox of its own. */
function attach(runner, worker) {
  // Files that share their modules share the inbox, too: the application has read the key already.
  if (globalThis[CURRENT]) return;
  const sandboxes = JSON.parse(process.env[VARIABLE] ?? '[]');
  if (sandboxes.length === 0) throw notConfigured(runner, 'globalSetup', 'global-setup');
  const index = Math.max(0, Number(worker) - 1 || 0) % sandboxes.length;
  const sandbox = new Sandbox(sandboxes[index]);
  const inbox = sandbox.inbox();
  Object.assign(process.env, inbox.env);
  globalThis[CURRENT] = { sandbox, inbox };
}

/** The sandbox and inbox of this worker. */
function current(runner) {
  if (!globalThis[CURRENT]) throw notConfigured(runner, 'setupFiles', 'setup');
  return globalThis[CURRENT];
}

function notConfigured(runner, option, file) {
  return new SandboxError('usage', `Add 'idempost-sandbox/${runner}/${file}' to the option \`${option}\` of ${runner}'s configuration.`);
}

module.exports = { attach, current, startAll };
