// The selected mails in a list, and the bar with actions for them, for the search results, or for all mails.

import { mark } from "./changes.js";
import { deleteMany } from "./deletion.js";
import { densityButton } from "./density.js";
import { fill, h, plain } from "./dom.js";

export class Selection {
  ids = new Set();
  /** The start of a range selection. */
  anchor = null;

  /** `list` has `tray`, `items`, `filter`, `filtered`, `unread` and `rowOf`. */
  constructor(list) {
    this.list = list;
    this.bar = h("div.bulk", { role: "group", "aria-label": "Change several mails", hidden: true });
  }

  /** The checkbox of a row. */
  box(item) {
    return h("input.pick", { type: "checkbox", checked: this.ids.has(item.id), "data-pick": item.id, "aria-label": `Select ${plain(item.subject) || "no subject"}`,
      onclick: (event) => this.pick(item.id, event.currentTarget.checked, event.shiftKey) });
  }

  toggle(id) { this.pick(id, !this.ids.has(id), false); }

  /** Selects a mail or, with `range`, all mails since the last one. */
  pick(id, selected, range) {
    const items = this.list.items.map((item) => item.id);
    const [from, to] = [range && this.anchor ? items.indexOf(this.anchor) : -1, items.indexOf(id)];
    const chosen = from < 0 ? [id] : items.slice(Math.min(from, to), Math.max(from, to) + 1);
    for (const one of chosen) selected ? this.ids.add(one) : this.ids.delete(one);
    this.anchor = id;
    this.draw();
  }

  all(selected) {
    this.ids = new Set(selected ? this.list.items.map((item) => item.id) : []);
    this.draw();
  }

  /** Asks, then deletes the selected mails. */
  delete() { return deleteMany(this.list.tray, { items: this.list.items.filter(({ id }) => this.ids.has(id)) }, count(this.ids.size, "selected")); }

  draw() {
    const { list, ids } = this;
    // Mails that have left the list are no longer selected.
    const listed = new Set(list.items.map((item) => item.id));
    for (const id of ids) if (!listed.has(id)) ids.delete(id);
    for (const box of list.rows.querySelectorAll(".pick")) box.checked = ids.has(box.dataset.pick);
    list.rows.classList.toggle("picking", ids.size > 0);
    this.bar.hidden = !list.items.length;
    const button = (name, word, act, tone = "") => h(`button.small${tone}`, { type: "button", "data-bulk": name, onclick: act }, word);
    const filter = list.filtered ? list.filter : {};
    const every = h("input.pick", { type: "checkbox", "data-pick": "", "aria-label": "Select all loaded mails", checked: ids.size > 0 && ids.size === list.items.length, onclick: (event) => this.all(event.currentTarget.checked) });
    every.indeterminate = ids.size > 0 && ids.size < list.items.length;
    const chosen = () => [...ids];
    const focused = this.bar.contains(document.activeElement) ? document.activeElement.dataset : null;
    fill(this.bar, every, ids.size
      ? [h("span.soft", { role: "status" }, `${ids.size.toLocaleString()} selected`),
        button("read", "Mark read", () => mark(list.tray, { ids: chosen() }, false)),
        button("unread", "Mark unread", () => mark(list.tray, { ids: chosen() }, true)),
        button("delete", "Delete…", () => this.delete(), ".danger.end")]
      : [h("span.soft", null, list.filtered ? "Found" : "All"),
        (list.unread > 0 || list.filtered) && button("read", "Mark all read", () => mark(list.tray, { filter }, false)),
        h("span.end.group", null, densityButton(),
          button("delete", list.filtered ? "Delete found…" : "Delete all…", () => deleteMany(list.tray, { filter }, list.filtered ? "all mails that match the search" : `all ${list.tray} mails`), ".quiet"))]);
    const name = focused?.bulk ? `[data-bulk=${focused.bulk}]` : focused && ".pick";
    if (name) this.bar.querySelector(name)?.focus();
  }
}

const count = (number, kind) => `${number.toLocaleString()} ${kind} ${number === 1 ? "mail" : "mails"}`;
