// Recorded requests and responses. The sandbox redacts credentials before it serves them.

import { get } from "./api.js";
import { headerTable } from "./bodies.js";
import { back, copyButton, debounced, fill, foreign, glyph, h, nothing, throttled } from "./dom.js";
import { bytes, long, precise, short, took } from "./format.js";
import { on } from "./live.js";

let current = null;
on("hello", () => current?.reload());
on("news", (news) => { if (news.requests) current?.reload(); });

export const requests = {
  name: "requests",
  enter(pane) { current = new Log(pane); },
  leave() { current = null; },
  async show(number, pane) {
    if (!number) { fill(pane, nothing("Select a request to view it with its response.")); return; }
    const asked = (current.shown = {});
    try {
      const request = await get(`/_/requests/${encodeURIComponent(number)}`);
      if (current?.shown === asked) fill(pane, h("article.mail", null, h("header", null, h("div.line", null, back("#/requests"), title(request))), exchange(request)));
    } catch (error) { if (current?.shown === asked) fill(pane, nothing(error.message)); }
  },
};

class Log {
  items = [];
  reload = throttled(() => this.load(), 300);
  changed = debounced(this.reload, 120);

  constructor(pane) {
    this.path = h("input", { type: "search", placeholder: "Path", "aria-label": "Part of the path", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false", oninput: () => this.changed() });
    const choice = (label, options) => h("select.small", { "aria-label": label, onchange: () => this.reload() }, options.map(([value, text]) => h("option", { value }, text)));
    this.method = choice("Method", [["", "Any method"], ...["GET", "POST", "PATCH", "DELETE"].map((one) => [one, one])]);
    this.status = choice("Status", [["", "Any status"], ["2", "2xx fine"], ["3", "3xx"], ["4", "4xx refused"], ["5", "5xx failed"]]);
    this.rows = h("ul.rows", { "aria-label": "Requests" });
    this.note = h("div.note");
    this.end = h("button.small.more", { type: "button", hidden: true, onclick: () => this.older() }, "Older requests");
    fill(pane, h("div.head", null, h("div.find", null, glyph("M8.500 3.500a5 5 0 1 1 0 10 5 5 0 0 1 0-10zm4 9 4 4"), this.path), h("div.choices", null, this.method, this.status)),
      h("div.scroll", null, this.rows, this.note, this.end));
    this.reload();
  }

  page(before) { return get("/_/requests", { path: this.path.value.trim(), method: this.method.value, status: this.status.value, before }); }

  async load() {
    const asked = (this.asked = {});
    try {
      const page = await this.page();
      if (asked !== this.asked) return;
      this.items = page.data;
      const focused = this.rows.contains(document.activeElement) ? document.activeElement.dataset.id : null;
      fill(this.rows, page.data.map(line));
      if (focused) this.rows.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
      fill(this.note, !page.data.length && h("p", null, "No requests match, or none was received yet."));
      this.end.hidden = !page.has_more;
    } catch (error) { fill(this.note, h("p.bad", null, error.message)); }
  }

  async older() {
    const page = await this.page(this.items.at(-1)?.number);
    this.items.push(...page.data);
    this.rows.append(...page.data.map(line));
    this.end.hidden = !page.has_more;
  }
}

const tone = (status) => (status < 300 ? "good" : status < 400 ? "calm" : status < 500 ? "warn" : "bad");

function line(request) {
  const open = location.hash === `#/requests/${request.number}`;
  return h("li", null, h("a.row.call", { href: `#/requests/${request.number}`, "data-id": request.number, "aria-current": open ? "true" : null },
    h("span.who", null, h("b.method", null, request.method), " ", foreign(request.path)), h("time", { datetime: request.created_at, title: request.created_at }, short(request.created_at)),
    h("span.foot", null, h(`span.event.${tone(request.status)}`, null, request.status), h("span.soft", null, precise(request.created_at)), duration(request), request.query && h("span.soft.query", null, foreign(`?${request.query}`)))));
}

function title(request) {
  return [h("h1", null, h("b.method", null, request.method), " ", foreign(request.path + (request.query ? `?${request.query}` : ""))), h(`span.event.${tone(request.status)}`, null, request.status)];
}

/** The service's processing time, and the delay added by a fault. */
function duration({ duration_us: micros, delay_ms: delay }) {
  return h("span.soft.took", { title: "Processing time of the service" }, took(micros), delay > 0 && ` + ${delay} ms delay`);
}

/** The request that created an email, for its tab. */
export function requestOf(path) {
  const holder = h("div");
  get(`${path}/request`).then((request) => fill(holder, h("div.sheet", null, h("div.line", null, title(request))), exchange(request)))
    .catch((error) => fill(holder, nothing(error.message)));
  return holder;
}

function exchange(request) {
  return h("div.sheet", null,
    h("p.soft", null, long(request.created_at), " · ", duration(request), " ", request.curl && copyButton(() => request.curl, "Copy as curl")),
    h("h2", null, "Request"), body(request.body, request.bodies_dropped), more(request.headers),
    h("h2", null, "Response"), body(request.answer_body, request.bodies_dropped), more(request.answer_headers));
}

function more(headers) {
  return h("details", null, h("summary", null, `${headers.length} headers`), headerTable(headers));
}

function body({ size, text, shortened }, dropped) {
  if (dropped) return h("p.soft", null, "Too large to be recorded.");
  if (!size) return h("p.soft", null, "No body.");
  return [h("pre.json", { tabindex: "0" }, foreign(pretty(text), true)), shortened && h("p.soft", null, `This is the beginning of ${bytes(size)}.`)];
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}
