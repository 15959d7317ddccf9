// The events of an email, and their webhook deliveries.

import { get } from "./api.js";
import { fill, foreign, h } from "./dom.js";
import { EVENTS, long, precise } from "./format.js";

export function timeline(path) {
  const holder = h("div.sheet");
  let asked = 0;
  holder.refresh = async () => {
    const turn = ++asked;
    try {
      const { events, webhooks } = await get(`${path}/timeline`);
      if (turn !== asked) return;
      fill(holder,
        h("ol.timeline", null, events.map(({ at, event, reason, to }) => {
          const [word, tone] = EVENTS[event] ?? [event, "calm"];
          return h(`li.${tone}`, null, h("strong", null, word, to && [" to ", foreign(to.join(", "))], reason && [": ", foreign(reason)]), h("time", { datetime: at, title: long(at) }, precise(at)));
        })),
        h("h2", null, "Webhooks"),
        webhooks.length ? h("ul.deliveries", null, webhooks.map(delivery))
          : h("p.soft", null, "No webhook deliveries. ", h("code", null, "idempost webhooks listen"), " shows what your webhooks would receive."));
    } catch (error) { if (turn === asked) fill(holder, h("p.bad", null, error.message)); }
  };
  holder.refresh();
  return holder;
}

const TONES = { success: "good", failed: "bad", pending: "warn", attempting: "calm" };

function delivery(one) {
  return h("li", null,
    h("div.line", null, h("code", null, one.type), h("span.soft", null, foreign(one.endpoint ?? "deleted webhook")), h(`span.event.${TONES[one.status] ?? "calm"}`, null, one.status)),
    h("ol.tries", null, one.attempts.map((attempt, place) => h("li", null,
      h("span.soft", null, `${place + 1}.`), h("time", { datetime: attempt.sent_at, title: long(attempt.sent_at) }, precise(attempt.sent_at)),
      h("strong", { class: attempt.http_status_code >= 200 && attempt.http_status_code < 300 ? "good" : "bad" }, attempt.http_status_code || "no response"),
      attempt.response && h("code", null, foreign(attempt.response.slice(0, 300)))))),
    one.next_attempt_at && h("p.soft", null, `Next attempt ${long(one.next_attempt_at)}`));
}
