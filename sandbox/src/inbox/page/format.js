// Formats times and sizes. Times are the sandbox's, whose clock may differ from the browser's.

let ahead = 0;

/** Stores the sandbox's current time. */
export function itIs(text) { ahead = parsed(text) - Date.now(); }

/** The sandbox's time, in milliseconds. */
export const now = () => Date.now() + ahead;

/** Parses both timestamp formats of the service. */
export function parsed(text) {
  return Date.parse(String(text).replace(" ", "T").replace(/\+00$/, "Z"));
}

const DAY = 86_400_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const exact = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

/** The shortest unambiguous format. */
export function short(text) {
  const then = parsed(text);
  const since = now() - then;
  if (Number.isNaN(then)) return "";
  if (since >= -5_000 && since < 60_000) return "now";
  if (since >= 0 && since < 3_600_000) return `${Math.floor(since / 60_000)} min`;
  if (Math.abs(since) < DAY && new Date(then).getDate() === new Date(now()).getDate()) return clock.format(then);
  return (Math.abs(since) < 300 * DAY ? day : year).format(then);
}

export const long = (text) => whole.format(parsed(text));
export const precise = (text) => exact.format(parsed(text));

export function bytes(count) {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB"];
  let value = count / 1000, at = 0;
  while (value >= 999.5 && at < units.length - 1) { value /= 1000; at += 1; }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
}

const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumSignificantDigits: 3 });
/** A number in at most five characters, for tabs and badges. */
export const brief = (count) => (count < 10_000 ? count.toLocaleString() : compact.format(count));

/** A duration in microseconds. */
export const took = (micros) => (micros < 1000 ? `${micros} µs` : `${(micros / 1000).toFixed(1)} ms`);

/** The name in `Name <address>`, or the address. */
export function nameOf(mailbox) {
  const found = /^\s*"?(.*?)"?\s*<[^<>]*>\s*$/.exec(mailbox ?? "");
  return found?.[1] ? found[1].replace(/\\(.)/g, "$1") : (mailbox ?? "").replace(/^<|>$/g, "");
}

/** The label and tone of each event. */
export const EVENTS = {
  accepted: ["accepted", "calm"], queued: ["queued", "calm"], scheduled: ["scheduled", "calm"], sent: ["sent", "calm"],
  delivered: ["delivered", "good"], opened: ["opened", "good"], clicked: ["clicked", "good"], received: ["received", "good"],
  delivery_delayed: ["delayed", "warn"], suppressed: ["suppressed", "warn"], canceled: ["canceled", "warn"],
  forwarded: ["forwarded", "good"], released: ["released", "good"], not_forwarded: ["not forwarded", "warn"], not_released: ["not released", "bad"],
  bounced: ["bounced", "bad"], complained: ["complained", "bad"], failed: ["failed", "bad"],
};

/** An argument for a POSIX shell, quoted if necessary. */
export function quoted(word) {
  return /^[\w.:/@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
