// The dialog for scripted faults: adds rules and lists the active ones.

import { get, post, remove } from "./api.js";
import { byId, copyButton, dialogTitle, fill, foreign, h, toast } from "./dom.js";
import { quoted } from "./format.js";
import { on } from "./live.js";

/** Faults: name, label, rule, and the flags of the command that adds the rule. */
const FAULTS = [
  ["500", "respond with 500", { action: "answer", status: 500 }, "--status 500"],
  ["503", "respond with 503, busy", { action: "answer", status: 503 }, "--status 503"],
  ["422", "respond with 422, rejected", { action: "answer", status: 422 }, "--status 422"],
  ["429", "respond with 429, retry after 1 s", { action: "rate_limit", retry_after: 1 }, "--rate-limit --retry-after 1"],
  ["slow", "delay the response by 5 s", { action: "slow", delay_ms: 5000 }, "--slow 5s"],
  ["stall", "never respond", { action: "stall" }, "--stall"],
  ["drop", "drop the connection before handling", { action: "drop" }, "--drop"],
  ["lose", "handle it, then drop the connection", { action: "lose" }, "--lose"],
  ["truncate", "truncate the response", { action: "truncate", bytes: 20 }, "--truncate 20"],
];
const SMTP_FAULTS = [
  ["451", "reply with 451, try again later", { action: "answer", code: 451 }, "--code 451"],
  ["550", "reply with 550, rejected", { action: "answer", code: 550 }, "--code 550"],
  ["421", "reply with 421 and close", { action: "answer", code: 421 }, "--code 421"],
  ["slow", "delay the reply by 5 s", { action: "slow", delay_ms: 5000 }, "--slow 5s"],
  ["stall", "never reply", { action: "stall" }, "--stall"],
  ["drop", "close the connection before handling", { action: "drop" }, "--drop"],
  ["lose", "handle it, then close the connection", { action: "lose" }, "--lose"],
];
const STAGES = ["CONNECT", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "END-OF-DATA"];
const REQUESTS = [["send", "the next email sent", { method: "POST", path: "/emails" }], ["any", "any request", {}], ["batch", "a batch", { method: "POST", path: "/emails/batch" }], ["get", "any GET request", { method: "GET" }],
  ...STAGES.map((stage) => [stage, `SMTP ${stage}`, { smtp: stage }])];

let rules = [];

export function faultsTool() {
  const dialog = byId("faults");
  const choices = (options) => options.map(([name, text]) => h("option", { value: name }, text));
  const select = (id, label, options, onchange) => h("label", null, label, h("select", { id, autofocus: id === "fault-which", onchange }, choices(options)));
  const faultsOf = (which) => (STAGES.includes(which) ? SMTP_FAULTS : FAULTS);
  const waiting = h("div");
  const command = h("code");
  const chosen = () => {
    const [which, what] = [byId("fault-which").value, byId("fault-what").value];
    const find = (list, name) => list.find(([known]) => known === name);
    return { rule: find(REQUESTS, which)[2], fault: find(faultsOf(which), what), times: Number(byId("fault-times").value) || 1 };
  };
  const describe = () => { command.textContent = commandOf(chosen()); };
  const draw = () => {
    const count = byId("fault-count");
    count.textContent = rules.length;
    count.hidden = !rules.length;
    byId("open-faults").classList.toggle("lit", rules.length > 0);
    byId("open-faults").setAttribute("aria-label", rules.length ? `Fail next: ${rules.length} active` : "Fail next");
    fill(waiting, rules.length > 0 && [h("h3", null, "Active rules"), h("ul.rules", null, rules.map((rule) => h("li", null,
      h("code", null, rule.smtp ? `SMTP ${rule.smtp}` : `${rule.method ?? "any"} ${rule.path ?? ""}`), h("span.gets", { title: "The response that the client gets" }, foreign(rule.client_gets.summary)), h("span.soft", null, left(rule)),
      h("button.small", { type: "button", onclick: () => change(() => remove(`/_/faults/${rule.id}`)) }, "Remove"))))]);
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
    dialogTitle("faults-title", "Fail next"),
    h("form.stack", { onsubmit: (event) => {
      event.preventDefault();
      const { rule, fault, times } = chosen();
      change(() => post("/_/faults", { ...rule, ...fault[2], times }));
    }, oninput: describe },
    select("fault-which", "Which request", REQUESTS, ({ currentTarget: which }) => { fill(byId("fault-what"), choices(faultsOf(which.value))); describe(); }), select("fault-what", "Fault", FAULTS),
    h("label", null, "Times", h("input", { id: "fault-times", type: "number", min: 1, max: 1000, value: 1 })),
    h("button.first", null, "Add fault")),
    waiting,
    h("p.soft", null, "From a script: ", copyButton(() => command.textContent), command));
  describe();
  byId("open-faults").addEventListener("click", () => { refresh(); dialog.showModal(); });
  on("hello", refresh);
  // A fault may have been applied.
  on("news", (news) => { if (news.requests && rules.length) refresh(); });
}

/** The command that adds this rule. */
function commandOf({ rule, fault, times }) {
  const which = rule.smtp ? `SMTP ${rule.smtp}` : [rule.method, rule.path].filter(Boolean).join(" ");
  return ["idempost sandbox fail", which && quoted(which), fault[3], times > 1 && `--times ${times}`].filter(Boolean).join(" ");
}

function left(rule) {
  return rule.left ? `${rule.left}×` : rule.percent ? `${rule.percent} %` : "always";
}
