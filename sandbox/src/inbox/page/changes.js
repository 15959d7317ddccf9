// Changes of mails: marking them as read or unread, and deletion.

import { patch, remove } from "./api.js";
import { byId, fill, h, plain, toast } from "./dom.js";

/** The routes of the folders whose mails can be changed. */
export const FOLDERS = { sent: "/_/messages", received: "/_/received" };

const listeners = [];
/** Registers a listener for the IDs of mails that this page has deleted. */
export const onDeleted = (listener) => listeners.push(listener);

/** Mails of a folder: `{ ids }`, or those that match `{ filter }`. */
const target = (tray, { ids, filter }) => (ids ? [FOLDERS[tray], { ids }] : [`${FOLDERS[tray]}?${new URLSearchParams(filter)}`.replace(/\?$/, ""), {}]);

/** Marks mails; returns whether that succeeded. */
export async function mark(tray, which, unread) {
  const [path, body] = target(tray, which);
  try { await patch(path, { ...body, unread }); return true; } catch (error) { toast(error.message, true); return false; }
}

/** Deletes one mail without a question. */
export async function deleteOne(tray, { id, subject }) {
  try {
    await remove(`${FOLDERS[tray]}/${encodeURIComponent(id)}`);
  } catch (error) {
    // Another page was faster.
    if (error.status !== 404) { toast(error.message, true); return false; }
  }
  toast(`Deleted: ${plain(subject).slice(0, 80) || "no subject"}`);
  for (const listener of listeners) listener([id]);
  return true;
}

/** Asks, then deletes several mails. `what` names them: "3 selected mails". */
export async function deleteMany(tray, which, what) {
  if (!await confirmed(`Delete ${what}?`, "They can't be restored. The emails themselves stay available to API clients.", `Delete ${what}`)) return false;
  const [path, body] = target(tray, which);
  try {
    const { deleted } = await remove(path, which.ids ? body : undefined);
    toast(`Deleted ${deleted.toLocaleString()} ${deleted === 1 ? "mail" : "mails"}`);
    if (which.ids) for (const listener of listeners) listener(which.ids);
    return true;
  } catch (error) { toast(error.message, true); return false; }
}

/** Asks a question in a dialog. */
function confirmed(question, consequence, action) {
  const dialog = byId("confirm");
  return new Promise((resolve) => {
    fill(dialog,
      h("form", { method: "dialog" }, h("h2", { id: "confirm-title" }, question), h("button.round.close", { "aria-label": "Close" }, "×")),
      h("p", null, consequence),
      h("div.group", null,
        h("button.danger", { type: "button", "data-confirm": true, onclick: () => dialog.close("yes") }, action),
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close("") }, "Cancel")));
    dialog.returnValue = "";
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.showModal();
  });
}
