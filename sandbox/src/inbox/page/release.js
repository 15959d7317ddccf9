// Releases an email to a real server, if the sandbox has one.

import { get, post } from "./api.js";
import { byId, dialogTitle, fill, foreign, glyph, h, toast } from "./dom.js";

/** The server, requested only once. */
let relay = null;

/** The release button of an email; hidden if there is no server. */
export function releaseButton(path) {
  const button = h("button.small", { type: "button", hidden: true, id: "release-mail", onclick: () => ask(path) },
    glyph("M3 10 17 4l-4.500 13-2.500-5.500z"), "Release…");
  relay ??= get("/_/relay").catch(() => { relay = null; return {}; });
  relay.then(({ server }) => { button.hidden = !server; });
  return button;
}

/** Asks for the recipients, then for confirmation. */
async function ask(path) {
  const { server, allow } = await relay;
  const dialog = byId("release-dialog");
  const field = h("input", { id: "release-to", type: "text", required: true, autofocus: true, autocomplete: "off", placeholder: "ada@example.com, bob@example.com" });
  const recipients = () => field.value.split(/[\s,;]+/).filter(Boolean);
  const confirmed = h("div", { hidden: true });
  const send = async (to, button) => {
    button.disabled = true;
    try {
      const { reply } = await post(`${path}/release`, { to });
      dialog.close();
      toast(`Released: ${reply}`);
    } catch (error) {
      button.disabled = false;
      fill(confirmed, h("p.bad", { role: "alert" }, foreign(error.message)));
    }
  };
  fill(dialog,
    dialogTitle("release-title", "Release"),
    h("form.stack", { onsubmit: (event) => {
      event.preventDefault();
      const to = recipients();
      if (!to.length) return;
      fill(confirmed,
        h("p", null, "Send this email to ", to.map((one, place) => [place > 0 && ", ", h("strong", null, foreign(one))]), ", and nobody else?"),
        h("button.first", { type: "button", id: "release-send", onclick: ({ currentTarget }) => send(to, currentTarget) }, "Send"));
      confirmed.hidden = false;
      byId("release-send").focus();
    } },
    h("label", null, "Recipients", field),
    h("button", null, "Continue")),
    confirmed,
    h("p.soft", null, `${server} delivers the email to these recipients, not to those in its headers.`,
      allow.length > 0 && [" Allowed: ", allow.map((one, place) => [place > 0 && ", ", foreign(one)]), "."]));
  // Other recipients need another confirmation.
  field.addEventListener("input", () => { confirmed.hidden = true; });
  dialog.showModal();
}
