// The status of an email as a badge.

import { h } from "./dom.js";
import { EVENTS, long } from "./format.js";

/** The status of an email; for an unsent email, the reason. */
export function badgeOf(item) {
  if (!item.state) return badge(item.last_event);
  const why = item.state === "scheduled" ? ` for ${long(item.scheduled_at)}` : item.reason ? `: ${item.reason}` : "";
  return badge(item.state, why);
}

export function badge(event, why = "") {
  const [word, tone] = EVENTS[event] ?? [event ?? "deleted", "calm"];
  return h(`span.event.${tone}`, null, word + why);
}
