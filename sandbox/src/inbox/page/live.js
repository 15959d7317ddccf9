// Live updates. Upon each `hello`, the page loads the current state; later changes follow in the stream.
//
// Browsers limit the connections per server to six, so all tabs that show an account share one stream: the tab with the lock opens it and forwards
// its messages. A hidden tab soon leaves the stream to another one. With notifications enabled, one tab keeps it while all are hidden.

import { address, base, key } from "./api.js";
import { byId } from "./dom.js";
import { itIs, now } from "./format.js";

const listeners = { hello: [], news: [] };
/** Registers a listener for messages of this kind. */
export const on = (kind, listener) => listeners[kind].push(listener);

/** Whether a hidden tab may keep the stream. */
let mayStay = () => false;
export const stayIf = (wanted) => { mayStay = wanted; };

/** How long a hidden tab keeps its stream, in milliseconds, so that switching back and forth doesn't reconnect. */
const MAX_HIDDEN = 10_000;
const name = `events of ${key} at ${base}`;
/** The lock for hidden tabs, shared by all accounts. */
const BACKGROUND = `events in the background at ${base}`;
const channel = new BroadcastChannel(name);
/** Browsers provide locks only to secure origins, such as this machine. Otherwise, each visible tab opens its own stream. */
const locks = navigator.locks;

const me = Math.random();
/** The counts in the last message. */
let counts = null;
/** The open stream, if this tab has it. */
let stream = null;
/** Ends this tab's turn, or its wait for one. */
let leave = null;

/** Waits for this tab's turn to open the stream, and for messages from the tab that has it. */
export function listen() {
  if (leave) return;
  const waiting = new AbortController();
  let release;
  const turn = new Promise((done) => { release = done; });
  leave = () => { waiting.abort(); release(); leave = null; close(); };
  if (locks) {
    locks.request(name, { signal: waiting.signal }, () => {
      if (!waiting.signal.aborted) open();
      return turn;
    }).catch(() => { /* It was hidden before its turn. */ });
  } else open();
  channel.postMessage({ ask: me });
  seen();
}

function open() {
  close();
  const own = (stream = new EventSource(address("/_/stream")));
  for (const kind of Object.keys(listeners)) own.addEventListener(kind, (event) => share(kind, JSON.parse(event.data)));
  // The browser reconnects automatically, unless the request was rejected.
  own.addEventListener("error", () => {
    share("off");
    if (own.readyState === EventSource.CLOSED) setTimeout(() => { if (stream === own) open(); }, 2000);
  });
}

function close() {
  stream?.close();
  stream = null;
}

/** Forwards a message to the other tabs. */
function share(kind, data) {
  channel.postMessage({ kind, data });
  receive(kind, data);
}

function receive(kind, data) {
  if (kind === "off") { counts = null; show("off", "Reconnecting"); return; }
  counts = kind === "hello" ? data : { ...counts, ...data.counts, unsent: data.unsent_count };
  itIs(data.now);
  show("on", "Live");
  for (const listener of listeners[kind]) listener(data);
}

channel.addEventListener("message", ({ data: { ask, to, kind, data } }) => {
  // A tab opened or shown later starts with the current state, as the stream itself does.
  if (ask && stream && counts) channel.postMessage({ to: ask, kind: "hello", data: { ...counts, now: new Date(now()).toISOString() } });
  if (kind && !stream && (to ?? me) === me) receive(kind, data);
});

let hideTimer;
addEventListener("pagehide", () => leave?.());
addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
document.addEventListener("visibilitychange", () => {
  seen();
  if (!document.hidden) listen();
});

/** Treats this tab as hidden after a delay, unless it is shown before. */
function seen() {
  clearTimeout(hideTimer);
  if (document.hidden) hideTimer = setTimeout(hide, MAX_HIDDEN);
}

/** Leaves the stream to a visible tab, if there is one. */
function hide() {
  const last = leave;
  if (!last) return;
  if (!locks || !mayStay()) { last(); return; }
  locks.request(BACKGROUND, { ifAvailable: true }, (lock) => {
    if (!lock) { last(); return undefined; }
    return new Promise((done) => { document.addEventListener("visibilitychange", done, { once: true }); });
  });
}

// Shows the number of unread mails in the title.
const title = document.title;
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
