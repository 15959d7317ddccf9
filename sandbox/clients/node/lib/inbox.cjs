'use strict';

const { randomBytes } = require('node:crypto');
const { inspect } = require('node:util');
const { Clock } = require('./clock.cjs');
const { SandboxError } = require('./errors.cjs');
const { milliseconds } = require('./fault.cjs');
const { call, send } = require('./http.cjs');
const { Mail, summary } = require('./mail.cjs');

/** Below the limit for a test in Vitest and Jest, so that the error of `waitFor` is the one that is shown. */
const DEFAULT_TIMEOUT = 4_000;
const MAX_SHOWN = 10;
const FILTERS = ['to', 'from', 'subject', 'query', 'tag'];

/** The mails sent with one API key. Every key is an account of its own. */
class Inbox {
  #sandbox;

  /** @private Use `sandbox.inbox()`. */
  constructor(sandbox, key, clocks) {
    this.#sandbox = sandbox;
    this.key = key;
    this.clock = new Clock((...request) => this.request(...request), false, clocks);
  }

  /** The variables that point an application to this inbox. */
  get env() {
    return this.#sandbox.envOf(this.key);
  }

  address(name = 'test') {
    return `${name}+${randomBytes(6).toString('hex')}@example.com`;
  }

  async waitFor(filter = {}) {
    const { after, timeout = this.#sandbox.timeout ?? DEFAULT_TIMEOUT, ...which } = filter;
    const query = conditions(which);
    if (after !== undefined) query.push(['after', reference(after)]);
    query.push(['timeout', String(milliseconds(timeout) / 1_000)]);
    try {
      return new Mail(this, await this.request('GET', '/_/messages/wait', { query }));
    } catch (error) {
      if (error.status !== 408) throw error;
      throw new SandboxError('timeout', await this.#missing(filter, timeout), { status: 408 });
    }
  }

  async list(filter = {}) {
    const mails = [];
    const query = [...conditions(filter), ['limit', '100']];
    for (let more = true; more; ) {
      const cursor = mails.length > 0 ? [['after', mails.at(-1).id]] : [];
      try {
        const page = await this.request('GET', '/_/messages', { query: [...query, ...cursor] });
        mails.push(...page.data.map(summary));
        more = page.has_more && page.data.length > 0;
      } catch (error) {
        // The last mail was deleted meanwhile: continue after the one before it.
        if (error.status !== 422 || mails.length === 0) throw error;
        mails.pop();
      }
    }
    return mails;
  }

  async get(id) {
    return new Mail(this, await this.request('GET', `/_/messages/${encodeURIComponent(id)}`));
  }

  async clear() {
    await this.request('DELETE', '/_/messages');
  }

  async reset() {
    await this.request('POST', '/_/reset');
  }

  async receive(mail, { to = [], spf, dkim, dmarc } = {}) {
    const checks = Object.entries({ spf, dkim, dmarc }).filter(([, result]) => result !== undefined);
    const query = [...[to].flat().map((recipient) => ['to', recipient]), ...checks];
    const raw = typeof mail === 'string' || mail instanceof Uint8Array;
    const content = raw ? { body: mail, type: 'message/rfc822' } : { json: mail };
    return (await this.request('POST', '/_/received', { query, ...content })).id;
  }

  async trigger(type, data = {}) {
    const { deliveries } = await this.request('POST', '/_/events', { json: { type, data } });
    return deliveries.map(({ webhook_id: webhookId, event_id: eventId }) => ({ webhookId, eventId }));
  }

  /** @private */
  request(method, path, options = {}) {
    return call(this.#sandbox.url, method, path, { key: this.key, ...options });
  }

  /** @private */
  source(id) {
    return send(this.#sandbox.url, 'GET', `/_/messages/${encodeURIComponent(id)}/raw`, { key: this.key });
  }

  /** What a timeout reports: the filter, and what is there instead. */
  async #missing(filter, timeout) {
    const { after, timeout: _, ...which } = filter;
    const wanted = Object.entries(which).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
    if (after !== undefined) wanted.push(`after ${reference(after)}`);
    const lines = [`No mail${wanted.length > 0 ? ` with ${wanted.join(', ')}` : ''} within ${milliseconds(timeout) / 1_000} s.`];
    const sent = await this.request('GET', '/_/messages', { query: [['limit', '100']] });
    const unsent = await this.request('GET', '/_/messages', { query: [['state', 'unsent'], ['limit', '100']] });
    if (sent.data.length > 0) lines.push('Mails of this inbox, newest first:', ...listed(sent, ''));
    if (unsent.data.length > 0) lines.push('Emails that were not sent:', ...listed(unsent, 'state'));
    if (lines.length === 1) {
      lines.push(`This inbox is empty: the application must send to ${this.#sandbox.url} with the key of \`inbox.env\`.`);
      // With a password, the list of accounts needs it, which the key of one account isn't.
      const { data } = await this.#sandbox.request('GET', '/_/tenants').catch(() => ({ data: [] }));
      const others = data.filter(({ sent }) => sent > 0).slice(0, MAX_SHOWN);
      if (others.length > 0) {
        lines.push('Other keys of the sandbox have mails:', ...others.map(({ label, sent }) => `  ${label} ${sent}`));
      }
    }
    return lines.join('\n');
  }
}

function listed({ data, has_more: more }, state) {
  const lines = data.slice(0, MAX_SHOWN).map((mail) => {
    const reason = state && ` (${mail.state}${mail.reason ? `: ${mail.reason}` : ''})`;
    return `  ${JSON.stringify(mail.subject)} from ${mail.from} to ${mail.to.join(', ')}${reason}`;
  });
  const hidden = data.length - lines.length;
  if (hidden > 0) lines.push(`  and ${more ? 'at least ' : ''}${hidden} more`);
  return lines;
}

/** The query of a filter. */
function conditions(filter) {
  const unknown = Object.keys(filter).find((name) => !FILTERS.includes(name));
  if (unknown !== undefined) throw new SandboxError('usage', `\`${unknown}\` isn't a filter; the filters are ${FILTERS.join(', ')}.`);
  return Object.entries(filter).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (name === 'tag' && typeof value === 'object') return Object.entries(value).map(([tag, content]) => ['tag', `${tag}=${content}`]);
    if (typeof value === 'object') throw new SandboxError('usage', `\`${name}\` must be text; found ${inspect(value)}.`);
    return [[name, String(value)]];
  });
}

/** A mail's ID, or a time. */
function reference(after) {
  if (after instanceof Date) return after.toISOString();
  return typeof after === 'object' ? after.id : after;
}

module.exports = { Inbox };
