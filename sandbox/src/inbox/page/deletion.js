// Deletes mails, with undo: they leave the page immediately, and the sandbox ten seconds later. Until then, API clients still see them.

import { get, leavingRemove, remove } from "./api.js";
import { FOLDERS } from "./changes.js";
import { byId, dialogTitle, fill, h, plain, toast } from "./dom.js";

/** The time to undo a deletion, in milliseconds. */
const TO_UNDO = 10_000;
/** The maximum number of IDs in a request. */
const MAX_IDS = 10_000;

/**
 * The deletions that can still be undone, newest last. `mails` contains the IDs, with whether the mail was unread, or null if the sandbox's counts
 * exclude it.
 */
const pending = [];
const listeners = [];
/** Registers a listener for mails that left the page (`gone`) or came back. */
export const onDeleted = (listener) => listeners.push(listener);
const tell = (ids, gone) => { for (const listener of listeners) listener(ids, gone); };

/** Whether a mail has left the page. */
export const isGone = (id) => pending.some(({ mails }) => mails.has(id));

/** The number of mails, and of unread ones, that have left a folder but are still in the sandbox's counts. */
export function goneFrom(tray) {
  const mails = pending.filter((one) => one.tray === tray).flatMap((one) => [...one.mails.values()]).filter((unread) => unread !== null);
  return { all: mails.length, unread: mails.filter(Boolean).length };
}

/** Records that the sandbox's counts exclude these mails. */
export function exclude(ids) {
  for (const { mails } of pending) for (const id of ids) if (mails.has(id)) mails.set(id, null);
}

/** Deletes one mail without confirmation. */
export function deleteOne(tray, { id, subject, unread }, back) {
  start(tray, new Map([[id, Boolean(unread)]]), `Deleted: ${plain(subject).slice(0, 80) || "no subject"}`, back);
}

/** Asks for confirmation, then deletes several mails: `{ items }`, or those matching `{ filter }`. `what` describes them: "3 selected mails". */
export async function deleteMany(tray, { items, filter }, what) {
  if (!await confirmed(`Delete ${what}?`, "You can undo this for ten seconds. The emails themselves stay available to API clients.", `Delete ${what}`)) return;
  try {
    const mails = new Map((items ?? await all(tray, filter)).map(({ id, unread }) => [id, Boolean(unread)]));
    if (mails.size) start(tray, mails, `Deleted ${mails.size.toLocaleString()} ${mails.size === 1 ? "mail" : "mails"}`);
  } catch (error) { toast(error.message, true); }
}

/** All mails in a folder that match a filter now: mails arriving later aren't deleted. */
async function all(tray, filter) {
  const { data } = await get(`${FOLDERS[tray]}/ids`, filter);
  return data.filter(({ id }) => !isGone(id));
}

function start(tray, mails, said, back) {
  const one = { tray, mails, back };
  const button = (act, word, title, then) => h("button.small", { type: "button", "data-act": act, title, onclick: () => then(one) }, word);
  one.toast = h("p.toast", null, h("span", null, said), button("undo", "Undo", "Undo (z)", undo), button("now", "Delete now", "Delete without waiting", commit));
  one.timer = setTimeout(() => commit(one), TO_UNDO);
  pending.push(one);
  byId("toasts").append(one.toast);
  tell([...mails.keys()], true);
}

function end(one) {
  clearTimeout(one.timer);
  one.toast.remove();
  pending.splice(pending.indexOf(one), 1);
}

/** Restores the mails; without an argument, the newest deletion's. */
export function undo(one = pending.at(-1)) {
  if (!one) return;
  end(one);
  tell([...one.mails.keys()], false);
  one.back?.();
}

async function commit(one) {
  clearTimeout(one.timer);
  one.toast.remove();
  try {
    for (const ids of requests(one)) await remove(FOLDERS[one.tray], { ids });
    // By then, the stream has reported the deletion, and no list that was requested earlier contains the mails.
    setTimeout(() => {
      end(one);
      tell([...one.mails.keys()], true);
    }, 500);
  } catch (error) {
    toast(error.message, true);
    undo(one);
  }
}

/** The IDs in portions for one request each. */
function requests({ mails }) {
  const ids = [...mails.keys()];
  return Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, at) => ids.slice(at * MAX_IDS, (at + 1) * MAX_IDS));
}

// Leaving the page doesn't undo deletions. (Browsers then send at most 64 KiB, about 1,600 IDs; any further mails stay.)
addEventListener("pagehide", () => {
  for (const one of pending) for (const ids of requests(one)) leavingRemove(FOLDERS[one.tray], { ids });
});

/** Asks for confirmation in a dialog. */
export function confirmed(question, consequence, action) {
  const dialog = byId("confirm");
  return new Promise((resolve) => {
    fill(dialog,
      dialogTitle("confirm-title", question),
      h("p", null, consequence),
      h("div.group", null,
        h("button.danger", { type: "button", "data-confirm": true, onclick: () => dialog.close("yes") }, action),
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close("") }, "Cancel")));
    dialog.returnValue = "";
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.showModal();
  });
}
