'use strict';

/** The clocks of all accounts of a sandbox, or the clock of one. */
class Clock {
  #request;
  #allAccounts;
  #changed;

  /** @private `changed` is a set to which a change adds the clock. */
  constructor(request, allAccounts, changed) {
    this.#request = request;
    this.#allAccounts = allAccounts;
    this.#changed = changed;
  }

  async show() {
    return shown(await this.#request('GET', '/_/clock', { query: [['all_accounts', String(this.#allAccounts)]] }));
  }

  advance(by) {
    return this.#change({ advance: by });
  }

  set(to) {
    return this.#change({ set: to instanceof Date ? to.toISOString() : to });
  }

  freeze() {
    return this.#change({ freeze: true });
  }

  run() {
    return this.#change({ run: true });
  }

  scale(factor) {
    return this.#change({ scale: factor });
  }

  /** @private */
  async restore() {
    await this.#change({ set: 'now', scale: 1, run: true });
    this.#changed.delete(this);
  }

  async #change(json) {
    this.#changed.add(this);
    return shown(await this.#request('POST', '/_/clock', { json: { ...json, all_accounts: this.#allAccounts } }));
  }
}

function shown({ now, frozen, scale, ahead_seconds: aheadSeconds }) {
  return { now: new Date(now), frozen, scale, aheadSeconds };
}

module.exports = { Clock };
