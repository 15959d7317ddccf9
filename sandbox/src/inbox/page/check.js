// The check of an email: its findings by severity, its links once they have been requested, and the mail clients that support its HTML and CSS. Excerpts and URLs
// are untrusted text.

import { get, post } from "./api.js";
import { fill, foreign, h, svg } from "./dom.js";
import { bytes } from "./format.js";

const SEVERITIES = [["error", "Errors", "bad"], ["warning", "Warnings", "warn"], ["note", "Notes", "calm"]];
/** Findings about features, which are listed with their mail clients instead. */
const OF_FEATURE = "feature_unsupported";
const PARTS = { html: "HTML", text: "Text", subject: "Subject", header: "Header", attachment: "File" };
/** The states of requested links. */
const TONES = { ok: "good", broken: "bad", denied: "warn", unreachable: "bad", not_public: "warn", skipped: "soft" };
const WORDS = { broken: "broken", unreachable: "unreachable", not_public: "not public", skipped: "skipped" };
/** The number of positions shown initially. */
const SHOWN = 3;

export function check(path) {
  const holder = h("div.sheet.check", { "aria-busy": "true" });
  const load = async (ask, failed) => {
    holder.setAttribute("aria-busy", "true");
    try { fill(holder, shown(await ask(`${path}/check`), request)); } catch (error) { failed(h("p.bad", null, error.message)); }
    holder.removeAttribute("aria-busy");
  };
  const request = ({ currentTarget: button }) => {
    button.disabled = true;
    button.textContent = "Requesting …";
    load(post, (message) => button.replaceWith(message));
  };
  load(get, (message) => fill(holder, message));
  return holder;
}

function shown({ findings, features, sizes, links }, request) {
  const low = new Set(findings.filter((one) => one.feature).map((one) => one.feature));
  const groups = SEVERITIES.map(([severity, label, tone]) => {
    const group = findings.filter((one) => one.severity === severity && one.code !== OF_FEATURE);
    return group.length > 0 && h("section", { "aria-label": label }, h("h2", null, `${label} `, h(`b.count.${tone}`, null, group.length)), h("ul.findings", null, group.map((one) => finding(one, tone))));
  });
  const [few, most] = [features.filter((one) => low.has(one.name)), features.filter((one) => !low.has(one.name))];
  const sized = [["Message", sizes.message], ["HTML", sizes.html], ["Text", sizes.text], ["Images", sizes.images || null]].filter(([, size]) => size !== null);
  return [
    h("p.soft", null, sized.map(([name, size], place) => `${place ? " · " : ""}${name} ${bytes(size)}`)),
    requested(links, request),
    groups,
    !groups.some(Boolean) && h("p.good", null, "No findings."),
    features.length > 0 && h("section", { "aria-label": "Mail clients" },
      h("h2", null, "Mail clients"),
      h("p.soft.legend", null, h("i.yes"), "supported", h("i.part"), "in part", h("i.no"), "not supported"),
      few.length > 0 && h("ul.features", null, few.map(feature)),
      most.length > 0 && h("details", null, h("summary", null, `${most.length} HTML and CSS features that at least 90% of mail clients support`), h("ul.features", null, most.map(feature))),
      h("p.soft", null, "Data: ", h("a", { href: "https://www.caniemail.com", target: "_blank", rel: "noopener noreferrer" }, "caniemail.com"), ", the newest tested version of each client.")),
  ];
}

/** The links: a button that makes the sandbox request them, and the results. */
function requested(links, request) {
  const button = (words) => h("button.small", { type: "button", "data-act": "links", onclick: request }, words);
  if (!links) {
    return h("div.line", null, button("Request links"),
      h("span.soft", null, "The sandbox requests every link except those that unsubscribe. A link that works only once is used up."));
  }
  const { total, data } = links;
  const count = data.filter(({ state }) => state !== "skipped").length;
  return h("div.requested", null,
    h("div.line", null, button("Request again"), h("span", { role: "status" }, `${count} of ${total.toLocaleString()} ${total === 1 ? "link" : "links"} checked`)),
    data.length > 0 && h("details", null, h("summary", null, "Links"), h("ul.places", null, data.map(({ url, state, status, location, reason }) => h("li", null,
      h(`b.${TONES[state]}`, null, status ?? WORDS[state]), h("code", null, foreign(url.slice(0, 300))),
      location && h("span", null, "→ ", h("code", null, foreign(location.slice(0, 300)))), reason && h("span.soft", null, foreign(reason.slice(0, 300))))))));
}

function finding({ code, message, count, places }, tone) {
  const list = (some) => h("ul.places", null, some.map(place));
  const rest = places.slice(SHOWN);
  return h("li", null,
    h("div.line", null, h("strong", null, message.split("`").map((part, place) => (place % 2 ? h("code", null, part) : part))), h(`span.event.${tone}`, null, code)),
    places.length > 0 && list(places.slice(0, SHOWN)),
    rest.length > 0 && h("details", null, h("summary", null, `${rest.length} more places`), list(rest)),
    places.length > 0 && count > places.length && h("p.soft", null, `and ${count - places.length} more`));
}

function place({ part, line, column, excerpt }) {
  return h("li", null, h("span.soft", null, line === null ? PARTS[part] : `${PARTS[part]} ${line}:${column}`), excerpt && h("code", null, foreign(excerpt)));
}

function feature({ name, title, url, count, supported, partial, unsupported, families }) {
  const inside = h("div");
  const tested = supported + partial + unsupported;
  return h("li", null, h("details", { ontoggle: (event) => { if (event.currentTarget.open && !inside.firstChild) fill(inside, clients(families), h("p", null, h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, name))); } },
    h("summary", null, h("code", null, title), h("span.soft", null, count > 1 && `${count} times`), bar(supported, partial, unsupported),
      h("span.counted", null, `${supported} of ${tested}`, partial > 0 && h("span.soft", null, `, ${partial} in part`))),
    inside));
}

function clients(families) {
  return h("table.clients", null, h("caption.only-heard", null, "Support by mail client"), h("tbody", null, families.map(({ name, supported, partial, unsupported }) => h("tr", null,
    h("th", { scope: "row" }, name),
    h("td", null, bar(supported.length, partial.length, unsupported.length)),
    h("td", null, [[supported, "good", "yes"], [partial, "warn", "in part"], [unsupported, "bad", "no"]].map(([platforms, tone, word]) => platforms.length > 0 && h("span", null, h(`b.${tone}`, null, word), ` ${platforms.join(", ")} `)))))));
}

/** Shares as a bar, whose text is next to it. */
function bar(yes, part, no) {
  const share = (name, x, width) => svg("rect", { class: name, x, width, height: 1 });
  return svg("svg", { class: "shares", viewBox: `0 0 ${yes + part + no} 1`, preserveAspectRatio: "none", "aria-hidden": "true" },
    share("yes", 0, yes), share("part", yes, part), share("no", yes + part, no));
}
