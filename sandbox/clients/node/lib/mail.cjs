'use strict';

const { SandboxError } = require('./errors.cjs');

/** A captured mail with its content. */
class Mail {
  #inbox;

  /** @private */
  constructor(inbox, details) {
    Object.assign(this, summary(details));
    this.html = details.html ?? undefined;
    this.text = details.text ?? undefined;
    this.headers = details.headers;
    this.codes = details.codes;
    this.links = details.links;
    this.#inbox = inbox;
  }

  get code() {
    if (this.codes.length === 0) throw new SandboxError('no_code', `${this.#name()} contains no code. Its text:\n${this.text ?? ''}`);
    return this.codes[0];
  }

  link(which) {
    const found = this.links.find(({ text, url }) => {
      if (which === undefined) return true;
      if (which instanceof RegExp) return text.search(which) >= 0 || url.search(which) >= 0;
      return text.toLowerCase().includes(which.toLowerCase()) || url.includes(which);
    });
    if (found) return found.url;
    const all = this.links.map(({ text, url }) => `\n  ${JSON.stringify(text)} ${url}`).join('');
    const wanted = which === undefined ? '' : ` that matches ${which instanceof RegExp ? which : JSON.stringify(which)}`;
    throw new SandboxError('no_link', `${this.#name()} contains no link${wanted}. Its links:${all || ' none'}`);
  }

  header(name) {
    return this.headers.find((header) => header.name.toLowerCase() === name.toLowerCase())?.value;
  }

  source() {
    return this.#inbox.source(this.id);
  }

  async record(type, detail = {}) {
    const { last_event: lastEvent } = await this.#inbox.request('POST', `/_/messages/${this.id}/events`, { json: { type, detail } });
    this.lastEvent = lastEvent;
  }

  #name() {
    return `The mail ${JSON.stringify(this.subject)} to ${this.to.join(', ')}`;
  }
}

/** A captured mail in a list. */
function summary(item) {
  return {
    id: item.id,
    emailId: item.email_id,
    from: item.from,
    to: item.to,
    cc: item.cc,
    bcc: item.bcc,
    subject: item.subject,
    createdAt: new Date(item.created_at.replace(' ', 'T').replace(/\+00$/, 'Z')),
    size: item.size,
    lastEvent: item.last_event ?? undefined,
    tags: Object.fromEntries(item.tags.map(({ name, value }) => [name, value])),
    attachments: item.attachments.map((one) => ({ filename: one.filename, contentType: one.content_type, size: one.size })),
  };
}

module.exports = { Mail, summary };
