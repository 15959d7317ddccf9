// What happens, as it happens. Each `hello` says: load what there is; all that comes later follows in the stream.

import { address } from "./api.js";
import { byId } from "./dom.js";
import { itIs } from "./format.js";

const listeners = { hello: [], news: [] };

/** Calls this with every message of this kind. */
export const on = (kind, listener) => listeners[kind].push(listener);

/** Ends the stream that is open. */
let leave = null;

export function listen() {
  leave?.();
  const stream = new EventSource(address("/_/stream"));
  for (const kind of Object.keys(listeners)) {
    stream.addEventListener(kind, (event) => {
      const data = JSON.parse(event.data);
      itIs(data.now);
      show("on", "Live");
      for (const listener of listeners[kind]) listener(data);
    });
  }
  // The browser tries again by itself, unless it was refused.
  stream.addEventListener("error", () => {
    show("off", "Reconnecting");
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => { if (leave) listen(); }, 2000);
  });
  leave = () => stream.close();
}

// A browser keeps few connections to one server: a page that nobody has seen for minutes gives its own back until it is seen again.
const UNSEEN = 300_000;
let hiding, missed = 0;
const title = document.title;
addEventListener("pagehide", () => leave?.());
addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => { leave?.(); leave = null; }, UNSEEN);
  else {
    if (!leave) listen();
    missed = 0;
    document.title = title;
  }
});
// Who looks elsewhere sees in the tab that mail has come.
on("news", (news) => {
  missed += document.hidden ? news.mails.length + news.received.length : 0;
  if (missed) document.title = `(${missed}) ${title}`;
});

function show(state, word) {
  const live = byId("live");
  if (live.dataset.state === state) return;
  live.dataset.state = state;
  live.lastElementChild.textContent = word;
}
