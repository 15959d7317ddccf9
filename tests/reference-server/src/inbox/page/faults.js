// Letting requests fail on purpose: what is to go wrong next, and what is still waiting to.

import { get, post, remove } from "./api.js";
import { byId, fill, foreign, h, toast } from "./dom.js";
import { on } from "./live.js";

const WHAT = [
  ["500", "answer 500", { action: "answer", status: 500 }],
  ["503", "answer 503, busy", { action: "answer", status: 503 }],
  ["422", "answer 422, refused", { action: "answer", status: 422 }],
  ["429", "answer 429, wait a second", { action: "rate_limit", retry_after: 1 }],
  ["slow", "answer after 5 seconds", { action: "slow", delay_ms: 5000 }],
  ["stall", "never answer", { action: "stall" }],
  ["drop", "lose the request", { action: "drop" }],
  ["lose", "send it, lose the answer", { action: "lose" }],
  ["truncate", "cut the answer short", { action: "truncate", bytes: 20 }],
];
const WHICH = [["send", "the next email sent", { method: "POST", path: "/emails" }], ["any", "any request", {}], ["batch", "a batch", { method: "POST", path: "/emails/batch" }], ["get", "anything that is read", { method: "GET" }]];

let rules = [];

export function faultsTool() {
  const dialog = byId("faults");
  const select = (id, label, options) => h("label", null, label, h("select", { id, autofocus: id === "fault-which" }, options.map(([name, text]) => h("option", { value: name }, text))));
  const waiting = h("div");
  const draw = () => {
    const count = byId("fault-count");
    count.textContent = rules.length;
    count.hidden = !rules.length;
    byId("open-faults").classList.toggle("lit", rules.length > 0);
    byId("open-faults").setAttribute("aria-label", rules.length ? `Fail next: ${rules.length} waiting` : "Fail next");
    fill(waiting, rules.length > 0 && [h("h3", null, "Waiting to go wrong"), h("ul.rules", null, rules.map((rule) => h("li", null,
      h("code", null, `${rule.method ?? "any"} ${rule.path ?? ""}`), h("span.gets", { title: "What the client will get" }, foreign(rule.client_gets.summary)), h("span.soft", null, left(rule)),
      h("button.small", { type: "button", onclick: () => change(() => remove(`/_/faults/${rule.id}`)) }, "Take back"))))]);
  };
  const refresh = async () => {
    try { rules = (await get("/_/faults")).data; } catch { rules = []; }
    draw();
  };
  const change = async (act) => {
    try { await act(); } catch (error) { toast(error.message, true); }
    await refresh();
  };
  fill(dialog,
    h("form", { method: "dialog" }, h("h2", { id: "faults-title" }, "Fail next"), h("button.round.close", { "aria-label": "Close" }, "×")),
    h("form.stack", { onsubmit: (event) => {
      event.preventDefault();
      const chosen = (list, id) => list.find(([name]) => name === byId(id).value)[2];
      const times = Number(byId("fault-times").value) || 1;
      change(() => post("/_/faults", { ...chosen(WHICH, "fault-which"), ...chosen(WHAT, "fault-what"), times }));
    } },
    select("fault-which", "What goes wrong", WHICH), select("fault-what", "How", WHAT),
    h("label", null, "How often", h("input", { id: "fault-times", type: "number", min: 1, max: 1000, value: 1 })),
    h("button.first", null, "Let it fail")),
    waiting,
    h("p.soft", null, "From a script: ", h("code", null, "posthaste sandbox fail 'POST /emails' --status 500 --times 2")));
  byId("open-faults").addEventListener("click", () => { refresh(); dialog.showModal(); });
  on("hello", refresh);
  // A request may have met one.
  on("news", (news) => { if (news.requests && rules.length) refresh(); });
}

function left(rule) {
  return rule.left ? `${rule.left}×` : rule.percent ? `${rule.percent} %` : "always";
}
