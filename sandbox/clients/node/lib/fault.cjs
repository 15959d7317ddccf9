'use strict';

const { SandboxError } = require('./errors.cjs');

/** The failures, in the words of `idempost sandbox fail`: the option, and the action with the field that the option's value sets. */
const FAILURES = [
  ['status', 'answer', 'status'],
  ['code', 'answer', 'code'],
  ['drop', 'drop'],
  ['lose', 'lose'],
  ['truncate', 'truncate', 'bytes'],
  ['stall', 'stall'],
  ['slow', 'slow', 'delay_ms'],
  ['rateLimit', 'rate_limit'],
  ['rotateThenLose', 'lose'],
];
/** Options beside the failure, and their fields. */
const OTHERS = { name: 'name', retryAfter: 'retry_after', times: 'times', percent: 'percent', always: 'always', after: 'after' };
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** The rule that options describe, as `POST /_/faults` reads it. */
function faultOf(rule, options = {}) {
  const names = FAILURES.map(([name]) => name);
  const unknown = Object.keys(options).find((name) => !names.includes(name) && !(name in OTHERS));
  if (unknown !== undefined) {
    throw usage(`\`${unknown}\` isn't an option of fail; the options are ${[...names, ...Object.keys(OTHERS)].join(', ')}.`);
  }
  const given = FAILURES.filter(([name]) => options[name] !== undefined && options[name] !== false);
  if (given.length > 1) throw usage(`\`${given[0][0]}\` and \`${given[1][0]}\` can't be used together.`);
  const [name, action, field] = given[0] ?? ['status', 'answer'];
  const fault = { action, ...selection(options.rotateThenLose ? 'POST /oauth/token' : rule) };
  if (field) fault[field] = name === 'slow' ? milliseconds(options.slow) : options[name];
  for (const [option, wire] of Object.entries(OTHERS)) {
    if (options[option] !== undefined) fault[wire] = options[option];
  }
  return fault;
}

/** The requests that a rule selects: `POST /emails`, `POST`, or `/emails`; or a stage of SMTP sessions: `SMTP RCPT`. */
function selection(rule) {
  const words = rule.split(/\s+/).filter(Boolean);
  if (words[0]?.toUpperCase() === 'SMTP') return { smtp: words.slice(1).join(' ').toUpperCase() };
  const path = words.at(-1)?.startsWith('/') ? words.pop() : undefined;
  const method = words.shift();
  if (words.length > 0) throw usage(`A rule must be a method, a path, or both, such as \`POST /emails\`; found ${JSON.stringify(rule)}.`);
  return { ...(method && { method: method.toUpperCase() }), ...(path && { path }) };
}

/** A duration in milliseconds, or in words such as `2s` and `1m 30s`. */
function milliseconds(duration) {
  if (typeof duration === 'number') return duration;
  const parts = [...String(duration).matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*/gy)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== duration) {
    throw usage(`A duration must be a number of milliseconds or text such as \`2s\`; found ${JSON.stringify(duration)}.`);
  }
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit], 0);
}

function usage(message) {
  return new SandboxError('usage', message);
}

module.exports = { faultOf, milliseconds };
