// Triggers events of a captured email manually.

import { beginning, address, post } from "./api.js";
import { inert } from "./bodies.js";
import { h, toast } from "./dom.js";

const COMMON = [["delivered", "Deliver"], ["opened", "Open"], ["clicked", "Click"], ["bounced", "Bounce"], ["complained", "Complain"]];
const RARE = [["delivery_delayed", "Delay"], ["suppressed", "Suppress"], ["failed", "Fail"]];

export function actions(path, mail) {
  const act = async (type, word) => {
    const body = { type };
    if (type === "clicked" && mail.html_size) {
      const link = await firstLink(path);
      if (link) body.detail = { link };
    }
    try {
      await post(`${path}/events`, body);
      toast(`${word}: event recorded`);
    } catch (error) { toast(error.message, true); }
  };
  const button = ([type, word]) => h("button.small", { type: "button", "data-act": type, onclick: () => act(type, word) }, word);
  const more = h("select.small", { "aria-label": "Trigger another event", onchange: ({ currentTarget: select }) => {
    const chosen = RARE.find(([type]) => type === select.value);
    select.value = "";
    if (chosen) act(...chosen);
  } }, h("option", { value: "" }, "More"), RARE.map(([type, word]) => h("option", { value: type }, word)));
  return h("div.group.happen", { role: "group", "aria-label": "Trigger an event" }, COMMON.map(button), more);
}

/** The first link of the email, for a click event. */
async function firstLink(path) {
  try {
    const { text } = await beginning(address(`${path}/html`), 500_000);
    return inert(text).querySelector("[data-to^='http']")?.dataset.to ?? null;
  } catch { return null; }
}
