// What has happened to a mail, and what webhooks were told of it.

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
        h("ol.timeline", null, events.map(({ at, event, reason }) => {
          const [word, tone] = EVENTS[event] ?? [event, "calm"];
          return h(`li.${tone}`, null, h("strong", null, reason ? `${word}: ${reason}` : word), h("time", { datetime: at, title: long(at) }, precise(at)));
        })),
        h("h2", null, "Webhooks"),
        webhooks.length ? h("ul.told", null, webhooks.map(told))
          : h("p.soft", null, "No webhook was told of it. ", h("code", null, "posthaste webhooks listen"), " shows what yours would get."));
    } catch (error) { if (turn === asked) fill(holder, h("p.bad", null, error.message)); }
  };
  holder.refresh();
  return holder;
}

const TONES = { success: "good", failed: "bad", pending: "warn", attempting: "calm" };

function told(one) {
  return h("li", null,
    h("div.line", null, h("code", null, one.type), h("span.soft", null, foreign(one.endpoint ?? "a webhook that is gone")), h(`span.event.${TONES[one.status] ?? "calm"}`, null, one.status)),
    h("ol.tries", null, one.attempts.map((attempt, place) => h("li", null,
      h("span.soft", null, `${place + 1}.`), h("time", { datetime: attempt.sent_at, title: long(attempt.sent_at) }, precise(attempt.sent_at)),
      h("strong", { class: attempt.http_status_code >= 200 && attempt.http_status_code < 300 ? "good" : "bad" }, attempt.http_status_code || "no answer"),
      attempt.response && h("code", null, foreign(attempt.response.slice(0, 300)))))),
    one.next_attempt_at && h("p.soft", null, `Next attempt ${long(one.next_attempt_at)}`));
}
