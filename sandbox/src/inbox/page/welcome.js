// The empty inbox, with instructions for the first email.

import { base, isKey, post, shell } from "./api.js";
import { copyButton, fill, h, toast } from "./dom.js";
import { account, accounts } from "./keys.js";

export function welcome(tray) {
  const others = h("div.others");
  accounts().then((all) => {
    const busy = all.filter((one) => !one.current && one.sent + one.received > 0).slice(0, 5);
    if (busy.length) fill(others, h("p", null, "Other accounts with emails:"), h("ul.accounts", null, busy.map(account)));
  }).catch(() => { /* The list of accounts is optional. */ });
  const sent = tray === "sent";
  return h("div.welcome", null,
    h("img", { src: "assets/icon.svg", alt: "", width: 72, height: 72 }),
    h("h1", null, sent ? "No emails yet" : "No emails received yet"),
    h("p", null, sent ? "Emails sent to this sandbox are captured here and never delivered. They appear as soon as they are accepted."
      : "Emails to any address can be received here: with a command, or by SMTP."),
    others,
    sent ? [
      isKey && h("button.first", { type: "button", onclick: sample }, "Send a sample mail"),
      step("With idempost", `${shell.variables}\nidempost emails send --from 'Acme <hi@acme.test>' --to ada@example.com \\\n  --subject Hello --text 'It works'`),
      step("With curl", `curl ${base}/emails \\\n  -H ${shell.header} -H 'Content-Type: application/json' \\\n  -d '{"from": "Acme <hi@acme.test>", "to": "ada@example.com",\n       "subject": "Hello", "html": "<h1>It works</h1>"}'`),
    ] : [
      step("With idempost", `${shell.variables}\nidempost sandbox receive --from ada@example.com --to support@acme.test \\\n  --subject Help --text 'It broke'`),
      step("With curl", `curl '${base}/_/received' \\\n  -H ${shell.header} -H 'Content-Type: message/rfc822' \\\n  --data-binary @mail.eml`),
    ]);
}

function step(title, text) {
  return h("figure.step", null, h("figcaption", null, title, copyButton(text)), h("pre", { tabindex: "0" }, text));
}

async function sample() {
  try {
    await post("/emails", {
      from: "Acme <hi@acme.test>", to: "Ada <ada@example.com>", subject: "Welcome aboard, Ada",
      html: "<!doctype html><body style=\"margin:0;padding:32px;background:#f4f4f5;font-family:system-ui,sans-serif\"><div style=\"max-width:480px;margin:auto;padding:32px;background:#fff;border-radius:12px\"><h1 style=\"margin-top:0;color:#166534\">It works</h1><p>This email was accepted, rendered as it would be sent, and kept. Nobody else will ever see it.</p><p><a href=\"https://example.com/start\" style=\"display:inline-block;padding:12px 20px;border-radius:8px;background:#166534;color:#fff;text-decoration:none\">Get started</a></p></div></body>",
      tags: [{ name: "kind", value: "sample" }],
    });
  } catch (error) { toast(error.message, true); }
}
