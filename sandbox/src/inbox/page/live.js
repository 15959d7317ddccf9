// Live updates. Upon each `hello` the page loads the current state; later changes follow in the stream.

import { address } from "./api.js";
import { byId } from "./dom.js";
import { itIs } from "./format.js";

const listeners = { hello: [], news: [] };

/** Registers a listener for messages of this kind. */
export const on = (kind, listener) => listeners[kind].push(listener);

/** Closes the open stream. */
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
  // The browser reconnects by itself, unless the request was rejected.
  stream.addEventListener("error", () => {
    show("off", "Reconnecting");
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => { if (leave) listen(); }, 2000);
  });
  leave = () => stream.close();
}

// Browsers limit the connections per server: a page that was hidden for minutes closes its own until it is visible again.
const MAX_HIDDEN = 300_000;
let hideTimer;
const title = document.title;
addEventListener("pagehide", () => leave?.());
addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
document.addEventListener("visibilitychange", () => {
  clearTimeout(hideTimer);
  if (document.hidden) hideTimer = setTimeout(() => { leave?.(); leave = null; }, MAX_HIDDEN);
  else {
    if (!leave) listen();
  }
});
// Shows the number of unread mails in the title.
function count({ sent, received }) {
  const unread = sent + received;
  document.title = unread ? `(${unread > 999 ? "999+" : unread}) ${title}` : title;
}
on("hello", (hello) => count(hello.unread));
on("news", (news) => count(news.counts.unread));

function show(state, word) {
  const live = byId("live");
  if (live.dataset.state === state) return;
  live.dataset.state = state;
  live.lastElementChild.textContent = word;
}
