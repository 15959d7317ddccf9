// Entry point: routing between views, keyboard shortcuts, and shared controls.

import { clockTool } from "./clock.js";
import { byId } from "./dom.js";
import { faultsTool } from "./faults.js";
import { keysTool, nameIt } from "./keys.js";
import { listen } from "./live.js";
import { mailKeys, mails } from "./list.js";
import { toggleFull } from "./mail.js";
import { metrics } from "./metrics.js";
import { notifyTool } from "./notify.js";
import { requests } from "./requests.js";
import { templates } from "./templates.js";

const VIEWS = { sent: mails("sent"), unsent: mails("unsent"), received: mails("received"), templates, requests, metrics };
const [list, detail] = [byId("list"), byId("detail")];
let view = null;

/** `#/sent`, `#/sent/<id>`, … */
function route() {
  const [, name = "sent", id = ""] = location.hash.split("/");
  const next = VIEWS[name] ?? VIEWS.sent;
  const was = document.body.dataset.open;
  if (next !== view) {
    view?.leave?.();
    view = next;
    for (const link of document.querySelectorAll("nav [data-view]")) link.ariaCurrent = link.dataset.view === view.name ? "page" : null;
    view.enter(list, detail);
  }
  document.body.dataset.open = id ? "detail" : "list";
  if (!id) document.body.removeAttribute("data-full");
  view.show(decoded(id), detail);
  for (const row of list.querySelectorAll(".row")) row.ariaCurrent = row.dataset.id === id ? "true" : null;
  // On a narrow screen, only one pane is visible; the keyboard focus follows it.
  if (id && was === "list" && narrow()) detail.focus();
  if (!id && was === "detail" && narrow()) list.focus();
}

/** Decodes a part of the location; unchanged if it isn't percent-encoded. */
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

const narrow = () => matchMedia("(max-width: 52rem)").matches;

/** Moves the focus in the list. If an item is open, opens the next one. */
function step(by) {
  const rows = [...list.querySelectorAll(".row")];
  if (!rows.length) return;
  const focused = rows.indexOf(document.activeElement);
  const open = rows.findIndex((row) => row.getAttribute("aria-current"));
  const from = focused >= 0 ? focused : open;
  const next = rows[Math.min(rows.length - 1, Math.max(0, from < 0 ? 0 : from + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  if (open >= 0) location.replace(next.href);
}

function close() {
  const row = list.querySelector(".row[aria-current]");
  location.hash = `#/${location.hash.split("/")[1] || "sent"}`;
  row?.focus();
}

const GO = { i: "#/sent", u: "#/unsent", t: "#/templates", r: "#/requests", m: "#/metrics" };
let going = 0;

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const field = event.target.closest?.("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") {
    if (field && list.contains(field) && field.value) { field.value = ""; field.dispatchEvent(new Event("input", { bubbles: true })); }
    else if (field) field.blur();
    else if (document.body.hasAttribute("data-full")) toggleFull();
    else if (document.body.dataset.open === "detail") close();
    return;
  }
  if (field) return;
  const act = {
    j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
    "/": () => list.querySelector("input[type=search]")?.focus(),
    "?": () => byId("help").showModal(),
    g: () => { going = Date.now(); },
    f: () => { if (detail.querySelector("[data-act=full]")) toggleFull(); },
    ...mailKeys,
  }[event.key];
  const go = Date.now() - going < 1500 ? GO[event.key] : undefined;
  if (go) { going = 0; location.hash = go; }
  else if (/^[1-9]$/.test(event.key)) detail.querySelectorAll(".tab")[event.key - 1]?.click();
  // In the detail pane, the arrow keys scroll.
  else if (act && !(event.key.startsWith("Arrow") && detail.contains(event.target) && event.target !== detail)) act();
  else return;
  event.preventDefault();
});

addEventListener("hashchange", route);
byId("open-help").addEventListener("click", () => byId("help").showModal());
nameIt(byId("key"));
for (const dialog of document.querySelectorAll("dialog")) {
  // A click outside the dialog closes it.
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); list.focus(); });
keysTool();
clockTool();
faultsTool();
notifyTool();
route();
listen();
