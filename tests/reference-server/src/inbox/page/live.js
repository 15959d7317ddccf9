// What happens, as it happens. Each `hello` says: load what there is; all that comes later follows in the stream.

import { address } from "./api.js";
import { byId } from "./dom.js";
import { itIs } from "./format.js";

const listeners = { hello: [], news: [] };

/** Calls this with every message of this kind. */
export const on = (kind, listener) => listeners[kind].push(listener);

export function listen() {
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
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => { stream.close(); listen(); }, 2000);
  });
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

function show(state, word) {
  const live = byId("live");
  if (live.dataset.state === state) return;
  live.dataset.state = state;
  live.lastElementChild.textContent = word;
}
