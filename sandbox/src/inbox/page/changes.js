// Marks mails as read or unread.

import { patch } from "./api.js";
import { toast } from "./dom.js";

/** The routes of the folders whose mails can be changed. */
export const FOLDERS = { sent: "/_/messages", received: "/_/received" };

/** Marks mails in a folder: `{ ids }`, or those matching `{ filter }`. */
export async function mark(tray, { ids, filter }, unread) {
  const query = filter ? `?${new URLSearchParams(filter)}`.replace(/\?$/, "") : "";
  try { await patch(FOLDERS[tray] + query, { ...(ids && { ids }), unread }); } catch (error) { toast(error.message, true); }
}
