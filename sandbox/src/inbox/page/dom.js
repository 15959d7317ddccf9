// Creates all elements of the page. Untrusted content becomes text, never markup.

/** Creates an element: `h("p.note", {title: "…", onclick: f}, "text", child, …)`. Children that are null or false are omitted. */
export function h(selector, attributes, ...children) {
  const [name, ...classes] = selector.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined) continue;
    if (key.startsWith("aria-")) element.setAttribute(key, value);
    else if (value === false) continue;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in PROPERTIES) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

const PROPERTIES = { value: 1, checked: 1, selected: 1, disabled: 1, hidden: 1, open: 1 };

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

export const byId = (id) => document.getElementById(id);

/** An SVG element. */
export function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  add(element, children);
  return element;
}

/** An icon from one SVG path: `glyph("M3 3h14")`. */
export const glyph = (path) => svg("svg", { class: "glyph", viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: path }));

/** Words in place of content. */
export const nothing = (words) => h("div.idle", null, h("p", null, words));

/** On a narrow screen, the link from a detail to its list. */
export const back = (href) => h("a.back.button", { href, "aria-label": "Back to the list", "data-at": "back" }, glyph("M12 4.500 6.500 10l5.500 5.500"));

/** The title of a dialog, with a button that closes it. */
export const dialogTitle = (id, title) => h("form", { method: "dialog" }, h("h2", { id }, title), h("button.round.close", { "aria-label": "Close" }, "×"));

// Invisible characters that change the meaning of a text: controls, direction marks, zero-width spaces.
// (The joiners U+200C and U+200D are kept, since emoji and some scripts need them.)
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/u;
const UNSEEN_ALL = new RegExp(UNSEEN.source, "gu");
const NAMES = { 0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding", 0x202c: "end of direction", 0x202d: "left-to-right override",
  0x202e: "right-to-left override", 0x2066: "left-to-right isolate", 0x2067: "right-to-left isolate", 0x2068: "isolate", 0x2069: "end of isolate",
  0x200e: "left-to-right mark", 0x200f: "right-to-left mark", 0x200b: "zero-width space", 0xfeff: "zero-width space", 0xad: "soft hyphen", 0: "null", 0x1b: "escape", 0x7f: "delete" };

/** Untrusted text, isolated from its surroundings, with invisible characters made visible. */
export function foreign(text, breaks = false) {
  const element = document.createElement("bdi");
  text = String(text ?? "");
  if (!UNSEEN.test(text) && (breaks || !/[\n\t]/.test(text))) {
    element.append(text);
    return element;
  }
  let from = 0;
  const plain = (part) => element.append(breaks ? part : part.replace(/[\n\t]/g, " "));
  for (const { 0: char, index } of text.matchAll(UNSEEN_ALL)) {
    // A line end in an email.
    if (char === "\r" && text[index + 1] === "\n") { plain(text.slice(from, index)); from = index + 1; continue; }
    plain(text.slice(from, index));
    from = index + char.length;
    const code = char.codePointAt(0);
    const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    element.append(h("span.unseen", { title: `${name} ${NAMES[code] ?? "unseen character"}` }, name));
  }
  plain(text.slice(from));
  return element;
}

/** Untrusted text without invisible characters, for use where elements aren't possible. */
export const plain = (text) => String(text ?? "").replace(UNSEEN_ALL, "").replace(/\s+/g, " ").trim();

/** A setting that the browser keeps, or null. */
export function kept(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

export function keep(name, value) {
  try { localStorage.setItem(name, value); } catch { /* The setting then lasts until the page is closed. */ }
}

/** Delays calls of a function until there was none for this time, in milliseconds. */
export function debounced(run, pause) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, pause);
  };
}

/** Calls a function immediately, but at most once in this time; further calls are made up for by one at its end. */
export function throttled(run, pause) {
  let resting = false, again = false;
  return function call() {
    if (resting) { again = true; return; }
    resting = true;
    setTimeout(() => {
      resting = false;
      if (again) { again = false; call(); }
    }, pause);
    run();
  };
}

/** A short message in the corner that disappears automatically. */
export function toast(text, bad = false) {
  const one = h(bad ? "p.toast.bad" : "p.toast", null, text);
  byId("toasts").append(one);
  setTimeout(() => one.remove(), bad ? 8000 : 3500);
}

/** A button that copies a text. */
export function copyButton(text, what = "Copy") {
  const label = h("span", null, what);
  return h("button.small.copy", { type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(typeof text === "function" ? text() : text); label.textContent = "Copied"; }
    catch { label.textContent = "Not allowed"; }
    setTimeout(() => { label.textContent = what; }, 1600);
  } }, glyph("M7 7V4.500h8.500V13H13M4.500 7H13v8.500H4.500z"), label);
}

/** Tabs in the WAI-ARIA pattern: the arrow keys move between them, and one is in the Tab order. `tabs` are `[name, label, show]`. */
export function tabbed(label, tabs, first, chosen) {
  const panel = h("div.panel", { role: "tabpanel", tabindex: "0" });
  const buttons = tabs.map(([name, text], place) => h("button.tab", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", "data-tab": name,
    onclick: () => open(place, false) }, text));
  panel.id = "panel";
  const open = (place, focus) => {
    buttons.forEach((button, other) => {
      button.setAttribute("aria-selected", other === place);
      button.tabIndex = other === place ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", buttons[place].id);
    panel.dataset.tab = tabs[place][0];
    if (focus) buttons[place].focus();
    chosen?.(tabs[place][0]);
    fill(panel, tabs[place][2](panel));
    panel.scrollTop = 0;
  };
  const bar = h("div.tabs", { role: "tablist", "aria-label": label, onkeydown: (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = buttons.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    open((at + step + buttons.length) % buttons.length, true);
  } }, buttons);
  open(Math.max(0, tabs.findIndex(([name]) => name === first)), false);
  return { bar, panel };
}
