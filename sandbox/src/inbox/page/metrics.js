// Metrics: the totals in the list, and next to it one metric by time, domain and broadcast.

import { get } from "./api.js";
import { back, fill, foreign, h, svg } from "./dom.js";
import { itIs, now } from "./format.js";
import { on } from "./live.js";

/** Name, label, and tone. */
const METRICS = [
  ["received", "Accepted", "calm"], ["sent", "Sent", "calm"], ["delivered", "Delivered", "good"], ["delivery_rate", "Delivery rate", "good"],
  ["opened", "Opens", "good"], ["unique_opened", "Opened emails", "good"], ["open_rate", "Open rate", "good"],
  ["clicked", "Clicks", "good"], ["unique_clicked", "Clicked emails", "good"], ["click_rate", "Click rate", "good"],
  ["delivery_delayed", "Delays", "warn"], ["suppressed", "Suppressed", "warn"], ["unsubscribed", "Unsubscribed", "warn"], ["unsubscribe_rate", "Unsubscribe rate", "warn"],
  ["bounced", "Bounces", "bad"], ["bounced_permanent", "Permanent bounces", "bad"], ["bounced_transient", "Transient bounces", "bad"],
  ["bounced_undetermined", "Undetermined bounces", "bad"], ["bounce_rate", "Bounce rate", "bad"],
  ["complained", "Complaints", "bad"], ["complaint_rate", "Complaint rate", "bad"], ["failed", "Failed", "bad"],
];
/** The beginning of a day of the month, this many months earlier. Ranges start with a whole period, so that the first bar is complete. */
const startOf = (date, months, day) => new Date(date.getFullYear(), date.getMonth() - months, day);
/** Label, granularity, and the start of the range that ends at a given time. */
const RANGES = {
  day: ["Last 24 hours", "hourly", (end) => new Date(new Date(end - 23 * 3_600_000).setMinutes(0, 0, 0))],
  week: ["Last 7 days", "daily", (end) => startOf(end, 0, end.getDate() - 6)],
  month: ["Last 30 days", "daily", (end) => startOf(end, 0, end.getDate() - 29)],
  year: ["Last 12 months", "monthly", (end) => startOf(end, 11, 1)],
};
/** The number of rows in a table by domain or broadcast. */
const MAX_ROWS = 20;

let current = null;
on("hello", () => current?.load());
on("news", () => current?.later());
addEventListener("resize", () => current?.draw());

export const metrics = {
  name: "metrics",
  enter(pane, detail) { current = new Overview(pane, detail); },
  leave() { current = null; },
  show(id) { current.open(id); },
};

class Overview {
  metric = METRICS[1];

  constructor(pane, detail) {
    this.detail = detail;
    this.rows = h("ul.rows", { "aria-label": "Metrics" });
    this.note = h("div.note");
    this.range = h("select", { "aria-label": "Range", onchange: () => this.load() }, Object.entries(RANGES).map(([name, [label]]) => h("option", { value: name, selected: name === "week" }, label)));
    fill(pane, h("div.head", null, h("div.find.plain", null, this.range)), h("div.scroll", null, this.rows, this.note));
    this.load();
  }

  open(id) {
    this.metric = METRICS.find(([name]) => name === id) ?? METRICS[1];
    this.draw();
  }

  /** Combines many events into one update, which starts once the previous one is complete. */
  later() {
    this.stale = true;
    this.wait ??= setTimeout(async () => {
      this.stale = false;
      if (current === this) await this.load();
      this.wait = null;
      if (this.stale) this.later();
    }, 400);
  }

  async load() {
    const asked = (this.asked = {});
    const [, granularity, start] = RANGES[this.range.value];
    try {
      // The range ends at the sandbox's current time.
      itIs((await get("/_/clock")).now);
      const start_date = start(new Date(now())).toISOString();
      const query = (dimensions) => ({ dimensions, granularity, start_date, timezone: ZONE });
      const found = await Promise.all(["period", "domain", "broadcast"].map((dimension) => get("/_/metrics", query(dimension))));
      if (asked !== this.asked) return;
      this.found = { granularity, totals: found[0].totals, periods: found[0].data, domains: found[1].data, broadcasts: found[2].data };
      fill(this.note);
      this.draw();
    } catch (error) { if (asked === this.asked) fill(this.note, h("p.bad", null, error.message)); }
  }

  draw() {
    if (!this.found) return;
    const { totals } = this.found;
    const focused = this.rows.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    fill(this.rows, METRICS.map(([name, label, tone]) => h("li", null, h("a.row.metric", { href: `#/metrics/${name}`, "data-id": name, "aria-current": location.hash === `#/metrics/${name}` ? "true" : null },
      h("span.who", null, label), h(`b.${totals[name] ? tone : "soft"}`, null, shown(name, totals[name]))))));
    if (focused) this.rows.querySelector(`[data-id="${focused}"]`)?.focus();
    const at = this.detail.contains(document.activeElement) ? document.activeElement.dataset.at : undefined;
    const open = this.detail.querySelector("details")?.open ?? false;
    fill(this.detail, report(this.metric, this.found, RANGES[this.range.value][0], { open, width: this.detail.clientWidth || MAX_WIDTH }));
    if (at !== undefined) this.detail.querySelector(`[data-at="${at}"]`)?.focus();
  }
}

const ZONE = (() => {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return /^[A-Z][A-Za-z_]+\//.test(name ?? "") && !name.startsWith("Etc/") ? name : "UTC";
})();

const isRate = (name) => name.endsWith("_rate");
const shown = (name, value) => (isRate(name) ? `${value.toFixed(1)} %` : value.toLocaleString());

function report([name, label, tone], { granularity, totals, periods, domains, broadcasts }, range, { open, width }) {
  return h("article.mail.metrics", null,
    h("header", null, h("div.line", null, back("#/metrics"), h("h1", null, label), h("span.soft", null, range)),
      h("p.total", null, h(`b.${tone}`, null, shown(name, totals[name])))),
    h("div.sheet", null,
      chart(name, tone, `${label} by ${{ hourly: "hour", daily: "day", monthly: "month" }[granularity]}, ${ZONE}`, periods.map((row) => [tick(granularity, row.period), row.period, row[name]]), width),
      table("By domain", name, tone, domains.map((row) => [foreign(row.domain_name), row[name]]), "Domain"),
      table("By broadcast", name, tone, broadcasts.map((row) => [row.broadcast_id ? foreign(row.broadcast_name || row.broadcast_id) : h("i", null, "outside of broadcasts"), row[name]]), "Broadcast"),
      h("details", { open }, h("summary", { "data-at": "values" }, "Values"), rowsOf(name, periods.map((row) => [row.period, row[name]]), "Period"))));
}

const tick = (granularity, period) => (granularity === "hourly" ? period.slice(11, 16) : granularity === "monthly" ? period.slice(0, 7) : period.slice(5));

function table(title, name, tone, rows, head) {
  if (!rows.length) return null;
  const most = rows.toSorted(([, one], [, other]) => other - one).slice(0, MAX_ROWS);
  const max = Math.max(most[0][1], isRate(name) ? 100 : 1);
  const hidden = rows.length - most.length;
  return [h("h2", null, title), rowsOf(name, most.map(([label, value]) => [label, value, svg("svg", { class: `share ${tone}`, viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 100 * value / max, height: 8 }))]), head), hidden > 0 && h("p.soft", null, `${hidden.toLocaleString()} more with lower or equal values`)];
}

function rowsOf(name, rows, head) {
  return h("table.figures", null, h("thead", null, h("tr", null, h("th", { scope: "col" }, head), h("th", { scope: "col" }, "Value"))),
    h("tbody", null, rows.map(([label, value, share]) => h("tr", null, h("th", { scope: "row" }, label), h("td", null, shown(name, value), share)))));
}

const MAX_WIDTH = 760, HEIGHT = 260, LEFT = 46, TOP = 14, BOTTOM = 26;

/** Bars, each reachable with the arrow keys: `[tick, label, value]`. In a narrow pane, the chart is narrower but its text isn't smaller. */
function chart(name, tone, label, points, pane) {
  const width = Math.min(MAX_WIDTH, Math.max(280, pane - 40));
  const max = ceiling(Math.max(...points.map(([, , value]) => value), isRate(name) ? 10 : 1), isRate(name));
  const space = (width - LEFT) / points.length, height = HEIGHT - TOP - BOTTOM;
  const y = (value) => TOP + height * (1 - value / max);
  const lines = [0, 0.25, 0.5, 0.75, 1].map((part) => max * part).filter((value) => isRate(name) || Number.isInteger(value));
  const every = Math.ceil((7 * points[0][0].length + 6) / space);
  const readout = h("p.soft.readout", { role: "status" }, "Use the arrow keys in the chart to read its bars.");
  const bars = points.map(([, period, value], at) => {
    const text = `${period}: ${shown(name, value)}`;
    const read = () => { readout.textContent = text; };
    return svg("g", { class: "point", role: "listitem", tabindex: at === points.length - 1 ? 0 : -1, "data-at": at, "aria-label": text, onfocus: read, onpointerenter: read },
      svg("rect", { class: "hit", x: LEFT + at * space, y: TOP, width: space, height }),
      svg("rect", { class: "filled", x: LEFT + at * space + space * 0.14, y: y(value), width: space * 0.72, height: Math.max(0, TOP + height - y(value)), rx: Math.min(3, space * 0.2) }));
  });
  const move = (event) => {
    const from = bars.indexOf(document.activeElement);
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: bars.length - 1 }[event.key];
    if (from < 0 || to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = bars[Math.min(bars.length - 1, Math.max(0, to))];
    bars.forEach((bar) => bar.setAttribute("tabindex", bar === next ? 0 : -1));
    next.focus();
  };
  return [svg("svg", { class: `chart ${tone}`, viewBox: `0 0 ${width} ${HEIGHT}`, role: "list", "aria-label": label, onkeydown: move },
    lines.map((value) => [svg("line", { class: "grid", x1: LEFT, x2: width, y1: y(value), y2: y(value) }), svg("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end", "aria-hidden": "true" }, value.toLocaleString() + (isRate(name) ? " %" : ""))]),
    points.map(([mark], at) => at % every === 0 && svg("text", { class: "tick", x: LEFT + (at + 0.5) * space, y: HEIGHT - 6, "text-anchor": "middle", "aria-hidden": "true" }, mark)),
    bars), readout];
}

/** The end of the scale: a round number that divides well into four parts. A rate can exceed 100 % if its events' emails were sent before the range. */
function ceiling(value, isPercent) {
  if (isPercent && value > 50 && value <= 100) return 100;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 8, 10].map((step) => step * power).find((end) => end >= value);
}
