// An empty inbox, and how to send the first mail.

import { key, post } from "./api.js";
import { copyButton, fill, h, toast } from "./dom.js";
import { quoted } from "./format.js";
import { account, accounts } from "./keys.js";

const base = location.origin;

export function welcome(tray) {
  const others = h("div.others");
  accounts().then((all) => {
    const busy = all.filter((one) => one.key !== key && one.sent + one.received > 0).slice(0, 5);
    if (busy.length) fill(others, h("p", null, "There is mail in other accounts:"), h("ul.accounts", null, busy.map(account)));
  }).catch(() => { /* Then there is nothing to be said of them. */ });
  const sent = tray === "sent";
  return h("div.welcome", null,
    h("img", { src: "/_/assets/icon.svg", alt: "", width: 72, height: 72 }),
    h("h1", null, sent ? "No mail yet" : "Nothing has come in yet"),
    h("p", null, sent ? "Everything that is sent to this sandbox is kept here and delivered nowhere. The first mail appears the moment it is accepted."
      : "Mail to any address arrives here: hand it in, or let a mail program deliver it."),
    others,
    sent ? [
      h("button.first", { type: "button", onclick: sample }, "Send a sample mail"),
      step("With posthaste", `export POSTHASTE_BASE_URL=${base} POSTHASTE_API_KEY=${quoted(key)}\nposthaste emails send --from 'Acme <hi@acme.test>' --to ada@example.com \\\n  --subject Hello --text 'It works'`),
      step("With curl", `curl ${base}/emails \\\n  -H ${quoted(`Authorization: Bearer ${key}`)} -H 'Content-Type: application/json' \\\n  -d '{"from": "Acme <hi@acme.test>", "to": "ada@example.com",\n       "subject": "Hello", "html": "<h1>It works</h1>"}'`),
    ] : [
      step("With posthaste", `export POSTHASTE_BASE_URL=${base} POSTHASTE_API_KEY=${quoted(key)}\nposthaste sandbox receive --from ada@example.com --to support@acme.test \\\n  --subject Help --text 'It broke'`),
      step("With curl", `curl '${base}/_/received' \\\n  -H ${quoted(`Authorization: Bearer ${key}`)} -H 'Content-Type: message/rfc822' \\\n  --data-binary @mail.eml`),
    ]);
}

function step(title, text) {
  return h("figure.step", null, h("figcaption", null, title, copyButton(text)), h("pre", { tabindex: "0" }, text));
}

async function sample() {
  try {
    await post("/emails", {
      from: "Acme <hi@acme.test>", to: "Ada <ada@example.com>", subject: "Welcome aboard, Ada",
      html: "<!doctype html><body style=\"margin:0;padding:32px;background:#f4f4f5;font-family:system-ui,sans-serif\"><div style=\"max-width:480px;margin:auto;padding:32px;background:#fff;border-radius:12px\"><h1 style=\"margin-top:0;color:#166534\">It works</h1><p>This mail was accepted, rendered as it would have left, and kept. Nobody else will ever see it.</p><p><a href=\"https://example.com/start\" style=\"display:inline-block;padding:12px 20px;border-radius:8px;background:#166534;color:#fff;text-decoration:none\">Get started</a></p></div></body>",
      tags: [{ name: "kind", value: "sample" }],
    });
  } catch (error) { toast(error.message, true); }
}
