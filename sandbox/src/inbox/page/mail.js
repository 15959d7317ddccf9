// One email: its details, its actions, and its tabs.

import { get, address } from "./api.js";
import { actions } from "./actions.js";
import { mark } from "./changes.js";
import { onDeleted } from "./deletion.js";
import { badge, badgeOf } from "./badge.js";
import { files, headers, html, source, text } from "./bodies.js";
import { check } from "./check.js";
import { back, copyButton, fill, foreign, glyph, h, tabbed } from "./dom.js";
import { bytes, long, nameOf } from "./format.js";
import { releaseButton } from "./release.js";
import { requestOf } from "./requests.js";
import { timeline } from "./timeline.js";

const PATHS = { sent: "/_/messages", unsent: "/_/messages", received: "/_/received" };
/** The last selected tab, which the next email opens with if available. */
let tab = null;
/** Whether the details of emails are open. */
let details = false;
/** The open email. */
let open = null;

/** `drop` deletes the mail. */
export async function showMail(tray, id, pane, drop) {
  const path = `${PATHS[tray]}/${encodeURIComponent(id)}`;
  const asked = (open = { path, tray, id, pane, drop, mail: open?.id === id && open.mail?.state ? open.mail : null });
  let mail;
  try {
    mail = await get(`${path}/about`);
  } catch (error) {
    if (open === asked) fill(pane, h("div.idle", null, back(`#/${tray}`), h("p", null, error.status === 404 ? "This email no longer exists." : error.message)));
    return;
  }
  if (open !== asked) return;
  asked.mail = mail;
  // An unsent email that has been sent in the meantime.
  if (tray === "unsent" && !mail.state) {
    if (isShown(asked)) location.replace(`#/sent/${mail.id}`);
    return;
  }
  const tabs = [
    ["html", "HTML", () => html(path, mail)],
    ["text", "Text", () => text(path, mail)],
    !mail.state && ["source", "Source", () => source(path, mail)],
    !mail.state && ["headers", "Headers", () => headers(mail)],
    !mail.state && ["files", mail.files.length ? ["Files", h("b.count", null, mail.files.length)] : "Files", () => files(path, mail)],
    ["check", "Check", () => check(path)],
    tray !== "received" && ["request", "Request", () => requestOf(path)],
    ["timeline", "Timeline", () => (asked.timeline = timeline(path))],
  ].filter(Boolean);
  const to = [...mail.to, ...(mail.cc ?? []), ...(mail.bcc ?? [])];
  const preferred = mail.html_size !== null ? "html" : "text";
  const first = tab && !(tab === "html" && mail.html_size === null) && !(tab === "text" && mail.text_size === null) && tabs.some(([name]) => name === tab) ? tab : preferred;
  const { bar, panel } = tabbed("Views of the email", tabs, first, (name) => { tab = name; asked.timeline = null; });
  asked.badge = tray !== "received" ? badgeOf(mail) : h("span.event.good", null, "received");
  fill(pane, h("article.mail.open", null,
    h("header", null,
      h("div.line", null, back(`#/${tray}`), h("h1", null, mail.subject ? foreign(mail.subject) : h("i", null, "no subject")),
        mail.codes.slice(0, 1).map(oneTime), failedChecks(mail), asked.badge),
      h("details.people", { open: details, ontoggle: ({ currentTarget }) => { details = currentTarget.open; } },
        h("summary", { title: "All addresses and details" }, h("span.only-heard", null, "Details: "),
          foreign(nameOf(mail.from)), h("span.soft", null, " to "), foreign(to.slice(0, 3).map(nameOf).join(", ") || "no recipient"), to.length > 3 && ` and ${to.length - 3} more`,
          h("span.soft", null, ` · ${long(mail.created_at)}${mail.state ? "" : ` · ${bytes(mail.size)}`}`)),
        h("dl.meta", null,
          people("From", [mail.from]), people("To", mail.to), people("Cc", mail.cc), people("Bcc", mail.bcc), people("Reply to", mail.reply_to),
          people("Received for", (mail.received_for ?? []).filter((one) => !mail.to.some((to) => to.includes(one)))),
          mail.authentication ? row("Checks", CHECKS.map((check) => checked(check, mail.authentication[check]))) : null,
          row("Date", h("time", { datetime: mail.created_at }, long(mail.created_at))),
          mail.codes.length > 1 && row("Codes", mail.codes.map(oneTime)),
          mail.tags?.length ? row("Tags", mail.tags.map((one) => h("span.tag", null, `${one.name}=${one.value}`))) : null,
          row(tray !== "received" ? "Email" : "ID", h("code", null, mail.email_id ?? mail.id), copyButton(mail.email_id ?? mail.id, "Copy")))),
      !mail.state && h("div.acts", null,
        tray === "sent" && actions(path, mail),
        h("div.group", null, releaseButton(path), (asked.mark = h("button.small", { type: "button", "data-act": "mark", onclick: () => mark(tray, { ids: [mail.id] }, !mail.unread) }, wordOf(false))),
          h("a.small.button", { href: address(`${path}/download`), download: "" }, glyph("M10 3v9m-4-3.500 4 4 4-4M4 16.500h12"), ".eml"),
          h("button.small.danger", { type: "button", "data-act": "delete", onclick: () => drop(mail) }, "Delete")))),
    h("div.views", null, bar, fullButton()), panel));
  pane.scrollTop = 0;
  // The user is reading it now.
  if (mail.unread) mark(tray, { ids: [mail.id] }, false);
}

const oneTime = (code) => h("span.onetime", null, h("code", { title: "One-time code" }, code), copyButton(code));

/** Toggles whether the mail fills the window. */
export function toggleFull() {
  const on = document.body.toggleAttribute("data-full");
  for (const button of document.querySelectorAll("[data-act=full]")) button.setAttribute("aria-pressed", on);
}

function fullButton() {
  return h("button.small.icon", { type: "button", "data-act": "full", title: "Full height (f)", "aria-label": "Full height", "aria-pressed": document.body.hasAttribute("data-full"), onclick: toggleFull }, glyph("M4 8V4h4M16 12v4h-4M4 4l5 5M16 16l-5-5"));
}

const wordOf = (unread) => (unread ? "Mark read" : "Mark unread");

/** Updates the open mail after it was marked. */
export function mailMarked(id, unread) {
  if (open?.mail?.id !== id || !open.mark) return;
  open.mail.unread = unread;
  open.mark.textContent = wordOf(unread);
}

/** Closes the open mail if it was deleted; without IDs, checks with the sandbox. */
export async function mailDeleted(ids) {
  const asked = open;
  if (!asked?.mail || asked.mail.state || !isShown(asked)) return;
  const gone = ids ? ids.includes(asked.mail.id) : await get(`${asked.path}/about`).then(() => false, (error) => error.status === 404);
  if (gone && open === asked && isShown(asked)) fill(asked.pane, h("div.idle", null, back(`#/${asked.tray}`), h("p", null, "This email was deleted.")));
}
onDeleted((ids, left) => { if (left) mailDeleted(ids); });

/** Whether the location still refers to the email. */
const isShown = ({ tray, id }) => location.hash === `#/${tray}/${id}`;

/** Reloads an open unsent email, which may have been sent. */
export function reloadUnsent() {
  if (open?.mail?.state && isShown(open)) showMail(open.tray, open.id, open.pane, open.drop);
}

/** Updates the open email after an event. */
export function mailChanged(id, event) {
  if (open?.mail && (open.mail.email_id ?? open.mail.id) === id) {
    if (open.mail.state) { reloadUnsent(); return; }
    if (event && open.mail.last_event !== event) {
      open.mail.last_event = event;
      const next = badge(event);
      open.badge.replaceWith(next);
      open.badge = next;
    }
    open.timeline?.refresh?.();
  }
}

function row(name, ...value) {
  return h("div", null, h("dt", null, name), h("dd", null, value));
}

const CHECKS = ["spf", "dkim", "dmarc"];
const TONES = { pass: "good", fail: "bad", processing_failed: "bad", gray: "warn" };

/** The failed sender checks, also shown next to the subject. */
const failedChecks = ({ authentication }) => CHECKS.filter((check) => authentication?.[check] === "fail").map((check) => checked(check, "fail"));

/** The result of a sender check. */
function checked(check, result) {
  return h(`span.event.${TONES[result] ?? "calm"}`, null, `${check.toUpperCase()} ${result.replace("_", " ")}`);
}

function people(name, list) {
  if (!list?.length) return null;
  const shown = list.slice(0, 20).map((one, place) => [place > 0 && ", ", foreign(one)]);
  return row(name, shown, list.length > 20 && h("span.soft", null, ` and ${list.length - 20} more`));
}
