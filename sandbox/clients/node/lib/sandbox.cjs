'use strict';

const { randomBytes } = require('node:crypto');
const { Clock } = require('./clock.cjs');
const { SandboxError } = require('./errors.cjs');
const { call } = require('./http.cjs');
const { Inbox } = require('./inbox.cjs');
const program = require('./program.cjs');
const { faultOf } = require('./fault.cjs');

const DEFAULT_KEY = 'sb_local';

/** A sandbox, started by this process or joined. */
class Sandbox {
  #stop;
  /** The rules that this object added. */
  #faults = new Set();
  /** The clocks that were changed by this object or its inboxes. */
  #clocks = new Set();

  /** @private Use `Sandbox.start` or `Sandbox.join`. */
  constructor({ url, key, smtp, timeout }, stop) {
    this.url = url;
    this.key = key;
    this.smtp = smtp;
    this.timeout = timeout;
    this.#stop = stop;
    this.clock = new Clock((...request) => this.request(...request), true, this.#clocks);
  }

  static async start({ timeout, ...options } = {}) {
    const { description, stop } = await program.start(options);
    const { base_url: url, api_key: key, smtp } = description;
    const address = smtp && new URL(smtp);
    return new Sandbox(
      { url, key, smtp: address && { host: address.hostname.replace(/[[\]]/g, ''), port: Number(address.port) }, timeout },
      stop,
    );
  }

  static async join(url = process.env.IDEMPOST_BASE_URL, { key, password, timeout } = {}) {
    if (!url) throw new SandboxError('usage', 'Sandbox.join needs a URL: as its argument, or in IDEMPOST_BASE_URL.');
    if (!/^https?:\/\//.test(url)) throw new SandboxError('usage', `The URL of a sandbox must begin with http:// or https://; found "${url}".`);
    const given = process.env.IDEMPOST_API_KEY ?? '';
    const usable = url === process.env.IDEMPOST_BASE_URL && /^(sb|re)_/.test(given) ? given : DEFAULT_KEY;
    const own = key ?? (password === undefined ? usable : `sb_${password}`);
    const sandbox = new Sandbox({ url: url.replace(/\/+$/, ''), key: own, timeout });
    let ready;
    try {
      // Without a key: the URL may be Resend's.
      ready = await call(sandbox.url, 'GET', '/_/ready', { key: DEFAULT_KEY });
    } catch (error) {
      if (error.code === 'unreachable') throw error;
    }
    if (!ready?.ready) {
      throw new SandboxError('not_a_sandbox', `${url} isn't a sandbox: GET /_/ready failed. Unset IDEMPOST_BASE_URL to start one.`);
    }
    try {
      await sandbox.clock.show();
    } catch (error) {
      if (error.status !== 401 && error.status !== 403) throw error;
      const message = `The sandbox at ${url} rejects the key: ${error.message} Pass its password: Sandbox.join(url, { password }).`;
      throw new SandboxError('key_rejected', message, { status: error.status, cause: error });
    }
    return sandbox;
  }

  /** The variables that point an application to this sandbox, as `idempost sandbox env` prints them. */
  get env() {
    return this.envOf(this.key);
  }

  /** @private */
  envOf(key) {
    const env = {
      IDEMPOST_BASE_URL: this.url,
      IDEMPOST_API_KEY: key,
      // Ruby's client appends a path without a slash.
      RESEND_BASE_URL: `${this.url}/`,
      RESEND_API_URL: this.url,
      RESEND_API_KEY: key,
      ...exceptions(this.url),
    };
    if (this.smtp) Object.assign(env, { SMTP_HOST: this.smtp.host, SMTP_PORT: String(this.smtp.port) });
    return env;
  }

  inbox({ key } = {}) {
    return new Inbox(this, key ?? `${this.key}_${randomBytes(8).toString('hex')}`, this.#clocks);
  }

  async fail(rule, options) {
    if (typeof rule === 'object') [rule, options] = ['', rule];
    const fault = await this.request('POST', '/_/faults', { json: { ...faultOf(rule ?? '', options), all_accounts: true } });
    this.#faults.add(fault.id);
    const remove = async () => {
      this.#faults.delete(fault.id);
      try {
        await this.request('DELETE', `/_/faults/${fault.id}`);
      } catch (error) {
        // Used up.
        if (error.status !== 404) throw error;
      }
    };
    return { id: fault.id, clientGets: fault.client_gets.summary, remove };
  }

  async restore() {
    for (const id of this.#faults) {
      this.#faults.delete(id);
      try {
        await this.request('DELETE', `/_/faults/${id}`);
      } catch (error) {
        if (error.status !== 404) throw error;
      }
    }
    for (const clock of this.#clocks) await clock.restore();
  }

  async stop() {
    const stop = this.#stop;
    this.#stop = undefined;
    await stop?.();
  }

  async [Symbol.asyncDispose ?? Symbol('asyncDispose')]() {
    await this.stop();
  }

  /** @private */
  request(method, path, options = {}) {
    return call(this.url, method, path, { key: this.key, ...options });
  }
}

/** Lets an application reach the sandbox past the proxy that this process's environment names; many clients use it even for this machine. */
function exceptions(url) {
  const { http_proxy, HTTP_PROXY, all_proxy, ALL_PROXY, no_proxy, NO_PROXY } = process.env;
  if (!(http_proxy || HTTP_PROXY || all_proxy || ALL_PROXY)) return {};
  const given = no_proxy || NO_PROXY || '';
  const host = new URL(url).hostname.replace(/[[\]]/g, '');
  const isListed = given.split(',').some((one) => ['*', host].includes(one.trim()));
  const list = isListed ? given : [given, host].filter(Boolean).join(',');
  return { NO_PROXY: list, no_proxy: list };
}

module.exports = { Sandbox };
