// The account dialog. Every API key has its own account.

import { get, isKey, key, label, post, remove } from "./api.js";
import { confirmed } from "./deletion.js";
import { byId, dialogTitle, fill, h, toast } from "./dom.js";

export function keysTool() {
  const dialog = byId("keys");
  const known = h("ul.accounts");
  const other = h("input", { id: "other-key", autofocus: true, placeholder: "sb_…", autocomplete: "off", spellcheck: "false", autocapitalize: "off", pattern: "(sb|re)_.+", title: "A key starts with sb_ or re_" });
  fill(dialog,
    dialogTitle("keys-title", "Account"),
    h("p.soft", null, "Every API key that starts with sb_ or re_ has an account of its own. Programs with different keys are isolated from each other."),
    known,
    h("form.inline", { onsubmit: (event) => { event.preventDefault(); if (other.value) location.assign(link(other.value)); } }, h("label", null, "Another key", other), h("button", null, "Show")),
    h("details", null, h("summary", null, "Delete data of this account"), h("p.soft", null, "Sent emails only, or everything of ", h("bdi", null, label), ": emails, templates, contacts, webhooks."),
      h("div.group", null, forget("Delete sent emails", () => remove("/_/messages")),
        // The ID becomes invalid together with the account.
        forget("Delete everything", () => post("/_/reset"), isKey ? "#/sent" : "./"))));
  function forget(words, act, next = "#/sent") {
    return h("button.danger", { type: "button", onclick: async () => {
      if (!await confirmed(`${words}?`, "This can’t be undone.", words)) return;
      try { await act(); dialog.close(); toast("Deleted"); location.assign(next); } catch (error) { toast(error.message, true); }
    } }, words);
  }
  byId("open-keys").addEventListener("click", async () => {
    dialog.showModal();
    try { fill(known, (await accounts()).map(account)); } catch (error) { fill(known, h("li.bad", null, error.message)); }
  });
}

const link = (name) => `?${new URLSearchParams({ key: name })}`;

export async function accounts() { return (await get("/_/tenants")).data; }

/** Shows the account's label. For an account chosen by ID, only the beginning of its key is known. */
export async function nameIt(element) {
  element.textContent = key;
  if (isKey) return;
  element.textContent = "…";
  const all = await accounts().catch(() => []);
  element.textContent = all.find((one) => one.current)?.label ?? label;
}

export function account(one) {
  const received = one.received ? `, ${one.received.toLocaleString()} received` : "";
  return h("li", null, h("a", { href: link(one.current ? key : one.id), "aria-current": one.current ? "page" : null }, h("bdi", null, one.label), h("span.soft", null, `${one.sent.toLocaleString()} sent${received}`)));
}
