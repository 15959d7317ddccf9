// The clock dialog: shows, moves, stops and accelerates the account's clock.

import { get, post } from "./api.js";
import { byId, dialogTitle, fill, h, toast } from "./dom.js";
import { itIs, long } from "./format.js";
import { on } from "./live.js";

const STEPS = [["1m", "+1 min"], ["1h", "+1 hour"], ["1d", "+1 day"], ["7d", "+7 days"]];
const SPEEDS = [[1, "real time"], [60, "1 minute per second"], [3600, "1 hour per second"]];
const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const days = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

let clock = null;
let read = 0;

/** The account's current time, in milliseconds. */
function time() {
  const start = Date.parse(clock.now);
  return clock.frozen ? start : start + (Date.now() - read) * clock.scale;
}

export function clockTool() {
  const dialog = byId("clock");
  const face = h("p.face", { role: "timer" });
  const pace = h("select", { id: "pace", onchange: () => change({ scale: Number(pace.value) }) }, SPEEDS.map(([scale, words]) => h("option", { value: scale }, words)));
  const still = h("button", { type: "button", onclick: () => change(clock.frozen ? { run: true } : { freeze: true }) });
  const when = h("input", { id: "when", type: "datetime-local", step: 1 });
  const draw = () => {
    if (!clock) return;
    const now = time();
    // After a large move, the day matters as well.
    byId("time").textContent = (Math.abs(now - Date.now()) < 60_000 ? hours : days).format(now);
    byId("open-clock").classList.toggle("lit", clock.frozen || clock.scale !== 1 || Math.abs(now - Date.now()) > 5_000);
    if (dialog.open) face.textContent = long(new Date(now).toISOString());
  };
  const take = (answer) => {
    [clock, read] = [answer, Date.now()];
    itIs(clock.now);
    still.textContent = clock.frozen ? "Resume" : "Stop";
    if (![...pace.options].some((option) => Number(option.value) === clock.scale)) pace.append(h("option", { value: clock.scale }, `× ${clock.scale}`));
    pace.value = clock.scale;
    draw();
  };
  const refresh = async () => { try { take(await get("/_/clock")); } catch { /* The next message of the stream triggers another refresh. */ } };
  const change = async (body) => {
    try { take(await post("/_/clock", body)); } catch (error) { toast(error.message, true); }
  };
  fill(dialog,
    dialogTitle("clock-title", "Clock"),
    face,
    h("p.soft", null, "This account's time; other accounts keep theirs. Moving it runs everything of the account that becomes due: scheduled emails are sent, webhook deliveries are retried."),
    h("div.group", { role: "group", "aria-label": "Move forward" }, STEPS.map(([by, words]) => h("button", { type: "button", "data-by": by, autofocus: by === "1m", onclick: () => change({ advance: by }) }, words))),
    h("div.stack", null,
      h("label", null, "Speed", pace),
      h("form.inline", { onsubmit: (event) => { event.preventDefault(); if (when.value) change({ set: new Date(when.value).toISOString() }); } }, h("label", null, "Set to", when), h("button", null, "Set")),
      h("div.group", null, still, h("button", { type: "button", onclick: () => change({ set: "now", scale: 1, run: true }) }, "Back to real time"))));
  byId("open-clock").addEventListener("click", () => { refresh(); dialog.showModal(); draw(); });
  on("hello", refresh);
  on("news", (news) => { if (news.clock) refresh(); });
  setInterval(draw, 1000);
}
