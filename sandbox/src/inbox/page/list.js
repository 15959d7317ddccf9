// The list of emails, newest first: loaded page by page, and updated live.

import { get, label } from "./api.js";
import { badge, badgeOf } from "./badge.js";
import { mark } from "./changes.js";
import { deleteOne, exclude, goneFrom, isGone, onDeleted, undo } from "./deletion.js";
import { density } from "./density.js";
import { byId, debounced, fill, foreign, glyph, h, throttled, toast } from "./dom.js";
import { brief, nameOf, short } from "./format.js";
import { on } from "./live.js";
import { mailChanged, mailDeleted, mailMarked, reloadUnsent, showMail } from "./mail.js";
import { Selection } from "./selection.js";
import { welcome } from "./welcome.js";

const PAGE = 50;
/** The maximum number of rows while the list is scrolled to its top. */
const MAX_ROWS = 400;
const TRAYS = {
  sent: { label: "Sent", list: "Sent mails", path: "/_/messages", none: "No emails sent from" },
  unsent: { label: "Unsent", list: "Unsent emails", path: "/_/messages", query: { state: "unsent" }, none: "No scheduled, failed or canceled emails for" },
  received: { label: "Received", list: "Received mails", path: "/_/received", none: "No emails received for" },
};
const FILTERS = [["from", "From", "part of an address"], ["to", "To", "part of an address"], ["subject", "Subject", "part of the subject"], ["tag", "Tag", "name or name=value"]];

const counts = { sent: 0, unsent: 0, received: 0, unread: { sent: 0, received: 0 } };
let current = null;

on("hello", (hello) => {
  Object.assign(counts, { sent: hello.sent, unsent: hello.unsent, received: hello.received, unread: hello.unread });
  current?.reload();
  if (current) reloadUnsent();
  mailDeleted();
});
on("news", (news) => {
  Object.assign(counts, news.counts, { unsent: news.unsent_count });
  exclude(news.deleted);
  current?.take(news);
  for (const { id, unread } of news.marked) mailMarked(id, unread);
  if (news.deleted.length) mailDeleted(news.deleted);
  for (const email of news.emails) mailChanged(email.id, email.last_event);
});

onDeleted((ids, left) => {
  if (left) current?.drop(ids, !ids.some(isGone));
  else current?.reload();
  current?.count();
});

/** Shortcuts, which act on the selected mails or else on the focused or open one. */
export const mailKeys = {
  n: () => current?.stepUnread(1), N: () => current?.stepUnread(-1),
  m: () => current?.markHere(), x: () => current?.pickHere(),
  Delete: () => current?.deleteHere(), "#": () => current?.deleteHere(), z: () => undo(),
};

/** The number of all mails and of unread mails in a folder. */
function numbers(tray) {
  const left = goneFrom(tray);
  return [Math.max(0, counts[tray] - left.all), Math.max(0, (counts.unread[tray] ?? 0) - left.unread)];
}

export function mails(tray) {
  return {
    name: "mail",
    enter(pane, detail) { current = new List(tray, pane, detail); },
    leave() { current = null; },
    show(id, detail) {
      if (id) showMail(tray, id, detail, (mail) => current?.delete(mail));
      else current.nothingOpen();
    },
  };
}

class List {
  /** The loaded mails, even those whose deletion can still be undone. */
  all = [];
  more = false;
  filter = {};
  asked = 0;
  loaded = false;
  /** Emails that arrived while the list was loading, which the response may not include. */
  arrived = [];
  /** Reloads immediately, but at most a few times per second. */
  reload = throttled(() => this.load(), 250);
  changed = debounced(() => this.applyFilter(), 120);

  constructor(tray, pane, detail) {
    Object.assign(this, { tray, pane, detail });
    this.rows = h("ul.rows", { "aria-label": TRAYS[tray].list });
    this.note = h("div.note");
    this.end = h("button.small.more", { type: "button", hidden: true, onclick: () => this.older() }, "Older mails");
    this.scroll = h("div.scroll", null, this.rows, this.note, this.end);
    this.search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search addresses, subjects, tags and text", "aria-keyshortcuts": "/", "aria-describedby": "search-problem", autocomplete: "off", spellcheck: "false", oninput: () => this.changed() });
    this.fields = FILTERS.map(([name, label, hint]) => h("label", null, label,
      h("input", { name, placeholder: hint, autocomplete: "off", spellcheck: "false", autocapitalize: "off", oninput: () => this.changed() })));
    this.help = h("button.round", { type: "button", title: "Search language", onclick: () => byId("search-help").showModal() }, h("span", { "aria-hidden": "true" }, "?"), h("span.only-heard", null, "Search language"));
    this.problem = h("p.problem.bad", { id: "search-problem", role: "alert", hidden: true });
    this.filters = h("div.filters", { id: "filters", hidden: true }, this.fields);
    this.toggle = h("button.round", { type: "button", title: "Filters", "aria-label": "Filters", "aria-expanded": "false", "aria-controls": "filters", onclick: () => {
      this.filters.hidden = !this.filters.hidden;
      this.toggle.setAttribute("aria-expanded", !this.filters.hidden);
      if (!this.filters.hidden) this.filters.querySelector("input").focus();
    } }, glyph("M3 5h14M6 10h8M8.500 15h3"));
    this.selection = new Selection(this);
    density(this.rows);
    this.trays = h("div.trays", { role: "group", "aria-label": "Sent, unsent or received" }, Object.entries(TRAYS).map(([name, { label }]) =>
      h("a.tray", { href: `#/${name}`, "aria-current": name === tray ? "page" : null, "data-tray": name }, label, h("b.count"), h("b.unread", { hidden: true }, h("span"), h("span.only-heard", null, " unread")))));
    fill(pane, h("div.head", null, h("div.find", null, glyph("M8.500 3.500a5 5 0 1 1 0 10 5 5 0 0 1 0-10zm4 9 4 4"), this.search, this.help, this.toggle), this.filters, this.problem, this.trays), tray !== "unsent" && this.selection.bar, this.scroll);
    new IntersectionObserver(([entry]) => { if (entry.isIntersecting) this.older(); }, { root: this.scroll, rootMargin: "400px" }).observe(this.end);
    this.count();
    this.reload();
  }

  /** The mails in the list. */
  get items() { return this.all.filter((item) => !isGone(item.id)); }

  count() {
    for (const tray of this.trays.children) {
      const [count, unread] = numbers(tray.dataset.tray), mark = tray.querySelector(".unread");
      tray.querySelector(".count").textContent = count ? brief(count) : "";
      tray.title = `${count.toLocaleString()} ${count === 1 ? "email" : "emails"}${unread ? `, ${unread.toLocaleString()} unread` : ""}`;
      mark.hidden = !unread;
      mark.firstElementChild.textContent = brief(unread);
    }
    if (this.loaded) this.selection.draw();
  }

  /** The number of unread mails in the folder. */
  get unread() { return numbers(this.tray)[1]; }

  applyFilter() {
    this.filter = {};
    for (const { lastElementChild: field } of this.fields) {
      if (field.value) this.filter[field.name] = field.value;
    }
    if (this.search.value.trim()) this.filter.query = this.search.value;
    this.toggle.classList.toggle("lit", this.fields.some((label) => label.lastElementChild.value));
    this.showProblem("");
    this.reload();
  }

  showProblem(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
    this.search.setAttribute("aria-invalid", Boolean(text));
  }

  get filtered() { return Object.keys(this.filter).length > 0; }

  page(cursor) { return get(TRAYS[this.tray].path, { limit: PAGE, ...TRAYS[this.tray].query, ...cursor, ...this.filter }); }

  async load() {
    const asked = ++this.asked;
    this.arrived = [];
    try {
      const page = await this.page({});
      if (asked !== this.asked) return;
      // If the user has scrolled down, keep the loaded items, provided that they adjoin the new page.
      const fresh = new Set(page.data.map((item) => item.id));
      const last = this.all.findIndex((item) => item.id === page.data.at(-1)?.id);
      const same = this.of === JSON.stringify(this.filter) && last >= 0 && this.scroll.scrollTop > 8;
      const kept = same ? this.all.slice(last + 1).filter((item) => !fresh.has(item.id)) : [];
      this.all = [...this.arrived.filter((item) => !fresh.has(item.id)), ...page.data, ...kept];
      if (!kept.length) [this.more, this.cursor] = [page.has_more, page.data.at(-1)?.id];
      this.of = JSON.stringify(this.filter);
      this.loaded = true;
      this.draw(same);
    } catch (error) {
      if (asked !== this.asked) return;
      // After an invalid search, leave the list unchanged.
      if (error.status === 422 && this.of) {
        this.filter = JSON.parse(this.of);
        this.showProblem(error.message);
      } else fill(this.note, h("p.bad", null, error.message));
    }
  }

  async older() {
    if (!this.more || this.loading || !this.cursor) return;
    this.loading = true;
    const asked = this.asked;
    try {
      const page = await this.page({ after: this.cursor });
      if (asked !== this.asked) return;
      this.all.push(...page.data);
      [this.more, this.cursor] = [page.has_more, page.data.at(-1)?.id];
      this.rows.append(...page.data.filter((item) => !isGone(item.id)).map((item) => this.row(item)));
      this.end.hidden = !this.more;
    } catch (error) {
      // The last email in the list has been evicted in the meantime.
      if (error.status === 422) this.reload();
      else toast(error.message, true);
    } finally { this.loading = false; this.goOn(); }
  }

  /** Loads more if the end of the list is (still) visible. */
  goOn() {
    const near = () => this.end.getBoundingClientRect().top < this.scroll.getBoundingClientRect().bottom + 400;
    if (this.more) requestAnimationFrame(() => { if (this.end.isConnected && near()) this.older(); });
  }

  /** Applies a live update. */
  take(news) {
    this.count();
    if (this.tray === "unsent") { this.takeUnsent(news); return; }
    const fresh = news[this.tray === "sent" ? "mails" : "received"];
    if (this.loaded && !this.items.length) this.empty();
    if (this.filtered && (fresh.length || ("query" in this.filter && news.marked.length))) this.reload();
    else if (fresh.length) this.put(fresh);
    this.drop(news.deleted, true);
    for (const { id, unread } of news.marked) this.mark(id, unread);
    for (const { id, last_event: event } of news.emails) {
      const item = this.all.find((item) => item.email_id === id);
      if (!item || !event || item.last_event === event) continue;
      item.last_event = event;
      this.rowOf(item.id)?.querySelector(".event")?.replaceWith(badge(event));
    }
  }

  /** Removes deleted mails: from the page or, if their deletion is final, also from the loaded ones. */
  drop(ids, final) {
    const gone = new Set(ids);
    if (!gone.size || this.tray === "unsent") return;
    for (const id of gone) this.rowOf(id)?.parentElement.remove();
    const left = (item) => !gone.has(item.id);
    if (final) {
      [this.all, this.arrived] = [this.all.filter(left), this.arrived.filter(left)];
      if (gone.has(this.cursor)) this.cursor = this.all.at(-1)?.id ?? this.cursor;
    }
    if (this.loaded) this.empty();
    if (!this.items.length && this.more) this.reload();
    else this.goOn();
  }

  mark(id, unread) {
    for (const item of [...this.all, ...this.arrived]) if (item.id === id) item.unread = unread;
    const row = this.rowOf(id);
    row?.classList.toggle("unread", unread);
    row?.querySelector(".state")?.replaceWith(state(unread));
  }

  /** The item of the focused row, or else of the open mail. */
  get here() {
    const id = document.activeElement?.closest?.("li")?.querySelector(".row")?.dataset.id ?? location.hash.split("/")[2];
    return this.tray === "unsent" ? undefined : this.items.find((item) => item.id === id);
  }

  /** Opens the next unread mail, or the previous one. */
  stepUnread(by) {
    const at = this.items.indexOf(this.here);
    const next = by > 0 ? this.items.slice(at + 1).find((item) => item.unread) : this.items.slice(0, Math.max(0, at)).findLast((item) => item.unread);
    if (!next) { toast("No more unread mails in the list"); return; }
    this.rowOf(next.id)?.scrollIntoView({ block: "nearest" });
    location.hash = `#/${this.tray}/${next.id}`;
  }

  markHere() {
    const item = this.here;
    if (this.selection.ids.size) {
      const unread = !this.items.some((one) => one.unread && this.selection.ids.has(one.id));
      mark(this.tray, { ids: [...this.selection.ids] }, unread);
    } else if (item) mark(this.tray, { ids: [item.id] }, !item.unread);
  }

  pickHere() { if (this.here) this.selection.toggle(this.here.id); }

  deleteHere() {
    if (this.selection.ids.size) this.selection.delete();
    else if (this.here) this.delete(this.here);
  }

  /** Deletes a mail, then goes on to the next one. */
  delete(item) {
    const focused = this.rows.contains(document.activeElement);
    const next = this.after(item.id);
    const here = `#/${this.tray}/${item.id}`, open = location.hash === here;
    deleteOne(this.tray, item, () => { if (open) location.hash = here; });
    if (open) location.replace(next ? `#/${this.tray}/${next.id}` : `#/${this.tray}`);
    if (focused && next) this.rowOf(next.id)?.focus();
  }

  /** The item after this one, or else the one before. */
  after(id) {
    const at = this.items.findIndex((item) => item.id === id);
    return at < 0 ? undefined : this.items[at + 1] ?? this.items[at - 1];
  }

  /** Applies an update of unsent emails: new, changed and sent ones. */
  takeUnsent({ emails, unsent }) {
    if (this.filtered && emails.length) { this.reload(); return; }
    const now = new Map(unsent.map((item) => [item.id, item]));
    const known = new Set(this.all.map((item) => item.id));
    const left = new Set(emails.map(({ id }) => id).filter((id) => !now.has(id)));
    for (const id of left) this.rowOf(id)?.parentElement.remove();
    for (const [id, item] of now) this.rowOf(id)?.parentElement.replaceWith(this.row(item));
    this.arrived = this.arrived.filter((item) => !left.has(item.id));
    this.all = this.all.filter((item) => !left.has(item.id)).map((item) => now.get(item.id) ?? item);
    this.put(unsent.filter((item) => !known.has(item.id)));
    if (this.loaded) this.empty();
  }

  put(fresh) {
    const known = new Set(this.all.map((item) => item.id));
    fresh = fresh.filter((item) => !known.has(item.id)).reverse();
    this.arrived = [...fresh, ...this.arrived].slice(0, PAGE);
    if (!fresh.length || !this.loaded) return;
    this.all.unshift(...fresh);
    const rows = fresh.map((item) => this.row(item));
    for (const row of rows) row.querySelector(".row").classList.add("fresh");
    // Keep the scroll position below the top.
    const top = this.scroll.scrollTop, height = this.scroll.scrollHeight;
    this.rows.prepend(...rows);
    if (top > 8) this.scroll.scrollTop = top + this.scroll.scrollHeight - height;
    else if (this.all.length > MAX_ROWS) {
      this.all.length = MAX_ROWS / 2;
      this.cursor = this.all.at(-1).id;
      while (this.rows.children.length > this.items.length) this.rows.lastElementChild.remove();
      this.more = true;
    }
    this.end.hidden = !this.more;
    this.empty();
    const what = this.tray === "unsent" ? "unsent email" : "email";
    const said = fresh.length === 1 ? `New ${what}: ${fresh[0].subject || "no subject"}` : `${fresh.length} new ${what}s`;
    byId("heard").textContent = said;
  }

  draw(same) {
    this.count();
    const top = this.scroll.scrollTop, height = this.scroll.scrollHeight;
    const focused = this.rows.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    fill(this.rows, this.items.map((item) => this.row(item)));
    if (focused) this.rowOf(focused)?.focus({ preventScroll: true });
    this.end.hidden = !this.more;
    this.empty();
    if (same) this.scroll.scrollTop = top + this.scroll.scrollHeight - height;
    else if (same === false) this.scroll.scrollTop = 0;
    this.goOn();
  }

  rowOf(id) { return this.rows.querySelector(`[data-id="${CSS.escape(id)}"]`); }

  row(item) {
    const sent = this.tray !== "received";
    const people = sent ? [...item.to, ...item.cc, ...item.bcc] : [item.from];
    const open = location.hash === `#/${this.tray}/${item.id}`;
    const [other, more] = sent ? ["from", [item.from]] : ["to", [...item.to, ...item.cc]];
    const files = item.attachments?.length ?? 0;
    return h("li", null, this.tray !== "unsent" && this.selection.box(item), h(item.unread ? "a.row.unread" : "a.row", { href: `#/${this.tray}/${item.id}`, "data-id": item.id, "aria-current": open ? "true" : null },
      h("span.who", null, state(item.unread), foreign(nameOf(people[0] ?? "no recipient")), people.length > 1 && h("span.soft", null, ` +${people.length - 1}`),
        more.length > 0 && h("span.via", null, ` ${other} `, foreign(nameOf(more[0])), more.length > 1 && ` +${more.length - 1}`)),
      h("time", { datetime: item.created_at, title: item.created_at }, short(item.created_at)),
      h("span.subject", null, item.subject ? foreign(item.subject) : h("i", null, "no subject")),
      h("span.marks", null,
        item.code && h("span.code", { title: "One-time code" }, glyph("M13 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM10.200 9.800 4 16v1.500h3V15h2v-2h1.500"), h("span.only-heard", null, "code "), foreign(item.code)),
        files > 0 && h("span.soft", { title: files === 1 ? "1 attachment" : `${files} attachments` }, glyph("m14.500 9-5.300 5.300a3 3 0 0 1-4.300-4.300l6-6a2 2 0 0 1 2.900 2.900l-5.700 5.700a1 1 0 0 1-1.400-1.400l5-5"), files, h("span.only-heard", null, files === 1 ? " attachment" : " attachments"))),
      h("span.foot", null, sent && badgeOf(item), item.preview && h("span.words.soft", null, foreign(item.preview))),
      item.tags?.length > 0 && h("span.labels", null, item.tags.slice(0, 3).map((tag) => h("span.tag", null, `${tag.name}=${tag.value}`)))));
  }

  empty() {
    const some = this.items.length > 0;
    fill(this.note, some ? null : this.filtered
      ? [h("p", null, "No emails match."), h("button.small", { type: "button", onclick: () => {
        for (const field of [this.search, ...this.fields.map((label) => label.lastElementChild)]) field.value = "";
        this.changed();
      } }, "Show all")]
      : [h("p", null, `${TRAYS[this.tray].none} ${label} yet.`),
        this.tray === "sent" && counts.unsent > 0 && h("a.button.small", { href: "#/unsent" }, `${counts.unsent.toLocaleString()} unsent`)]);
    if (current === this && document.body.dataset.open === "list") this.nothingOpen();
    this.scroll.classList.toggle("bare", !some);
    this.selection.draw();
  }

  nothingOpen() {
    if (!this.loaded) return;
    const bare = this.tray !== "unsent" && !this.items.length && !this.filtered;
    document.body.dataset.bare = bare;
    if (bare) { if (!this.detail.querySelector(".welcome")) fill(this.detail, welcome(this.tray)); }
    else fill(this.detail, h("div.idle", null, h("img", { src: "assets/icon.svg", alt: "", width: 56, height: 56 }), h("p", null, "Select an email to view it."),
      h("p.soft.hints", null, h("kbd", null, "j"), h("kbd", null, "k"), " to move, ", h("kbd", null, "Enter"), " to open, ", h("kbd", null, "?"), " for more")));
  }
}

/** The state of a row as text, for users who can't see bold type. */
const state = (unread) => h("span.state.only-heard", null, unread ? "unread, " : "");

// Updates relative times such as "3 min".
setInterval(() => {
  for (const time of document.querySelectorAll(".rows time")) time.textContent = short(time.dateTime);
}, 30_000);
