// The bodies and attachments of an email. Its HTML is shown only in a frame that the sandbox serves with a separate Content-Security-Policy:
// scripts don't run, and no external resources are loaded.

import { address, beginning } from "./api.js";
import { copyButton, fill, foreign, glyph, h, nothing } from "./dom.js";
import { bytes } from "./format.js";
import { preview, remoteImages } from "./preview.js";

/** HTML of at least this size is shown only on demand, since a browser takes seconds to render it. */
const HEAVY = 2_000_000;
/** The size at which some mail clients clip an email. */
const CLIPPED = 102_000;
/** The initially shown length of a text. */
const LONGEST = 400_000;

export function html(path, mail) {
  if (mail.html_size === null) return nothing("This email has no HTML body.");
  return framed((parameters) => address(`${path}/html`, parameters), mail.html_size, "The mail's HTML", path);
}

/** An untrusted document in its frame, with controls and hints. `source` returns its URL; the mail with this path may have remote images. */
export function framed(source, size, title, path = null) {
  const { stage, viewport, controls, show } = preview(title, source);
  const links = h("div.links", { hidden: true });
  const bar = h("div.panelbar", null,
    controls,
    h("button.small", { type: "button", "aria-expanded": "false", onclick: async ({ currentTarget: button }) => {
      links.hidden = !links.hidden;
      button.setAttribute("aria-expanded", !links.hidden);
      if (!links.hidden) fill(links, await linksOf(source({})));
    } }, glyph("M8.500 11.500a3 3 0 0 0 4.300 0l2.700-2.700a3 3 0 0 0-4.300-4.300l-1 1M11.500 8.500a3 3 0 0 0-4.300 0l-2.700 2.700a3 3 0 0 0 4.300 4.300l1-1"), "Links"),
    size > CLIPPED && h("span.warn.hint", null, `${bytes(size)} of HTML: Gmail cuts off after 102 kB`),
    h("span.soft.hint.end", { title: "Scripts and external resources are blocked" }, glyph("M10 2.500 4 5v4.500c0 4 2.600 6.600 6 8 3.400-1.400 6-4 6-8V5z"), "Isolated", h("span.only-heard", null, ": scripts and external resources are blocked")));
  let isShown = size <= HEAVY;
  if (isShown) show();
  else fill(viewport, h("div.idle", null, h("p", null, `This is ${bytes(size)} of HTML. Rendering it may take a while.`), h("button", { type: "button", onclick: () => { isShown = true; show(); } }, "Show anyway")));
  const withImages = () => (isShown ? show({ images: "loaded" }) : null);
  return [bar, path && remoteImages(path, withImages), links, stage];
}

/** Parses a document without showing it, running scripts or loading resources. (Styles are removed, since the page's policy would report them.) */
export function inert(html) {
  return new DOMParser().parseFromString(html.replace(/<style/gi, "<x-style").replace(/([\s"'/])style\s*=/gi, "$1data-style="), "text/html");
}

/** Lists the targets of a document's links. */
async function linksOf(page) {
  let text;
  try { ({ text } = await beginning(page, HEAVY)); } catch (error) { return h("p.bad", null, error.message); }
  const all = [...inert(text).querySelectorAll("[data-to]")];
  if (!all.length) return h("p.soft", null, "There are no links.");
  return linkList(all.map((link) => ({ text: link.textContent.replace(/\s+/g, " ").trim(), url: link.dataset.to })));
}

/** Lists links as text: they can't be followed, only copied. */
export function linkList(all) {
  const shown = all.slice(0, 200).map(({ text, url }) => {
    const bad = !/^\s*(https?:|mailto:|tel:|#)/i.test(url) && !/\{\{\{/.test(url);
    return h("li", null, text !== url && h("span.soft", null, foreign(text.slice(0, 120) || "no text")), h("code", null, foreign(url.slice(0, 2000))), bad && h("span.event.bad", null, "not a web address"), copyButton(url));
  });
  return [h("ul", null, shown), all.length > 200 && h("p.soft", null, `and ${all.length - 200} more`)];
}

export function text(path, mail) {
  if (mail.text_size === null) return nothing("This email has no text body.");
  // An HTML body has its own list of links.
  const links = mail.html_size === null ? mail.links : [];
  return [links.length > 0 && h("details.links", { open: true }, h("summary", null, links.length === 1 ? "1 link" : `${links.length} links`), linkList(links)), long(`${path}/text`, "Text", mail.text_size)];
}

export function source(path, mail) {
  return long(`${path}/download`, "Source", mail.size);
}

function long(path, name, size) {
  const holder = h("div.long", { "aria-busy": "true" });
  const load = async (max) => {
    try {
      const { text, complete } = await beginning(path, max);
      fill(holder,
        h("div.panelbar", null, h("span.soft.hint", null, bytes(size)), h("span.end", null, copyButton(() => text))),
        h("pre", { dir: "auto", class: name.toLowerCase() }, foreign(text, true)),
        !complete && h("p.cut", null, `This is the beginning, ${bytes(max)} of ${bytes(size)}. `, h("button.small", { type: "button", onclick: () => load(max * 10) }, "Show more")));
    } catch (error) { fill(holder, h("p.bad", null, error.message)); }
    holder.removeAttribute("aria-busy");
  };
  load(LONGEST);
  return holder;
}

export function headers(mail) {
  return h("div.sheet", null, headerTable(mail.headers));
}

export function headerTable(headers) {
  return h("table.pairs", null, h("caption.only-heard", null, "Headers"), h("tbody", null, headers.map(({ name, value }) =>
    h("tr", null, h("th", { scope: "row" }, foreign(name)), h("td", null, foreign(value))))));
}

/** The image types that all browsers show. (SVG can contain scripts, so it is only downloaded.) */
const PICTURE = /^image\/(png|jpe?g|gif|webp|avif|bmp)$/i;

export function files(path, mail) {
  if (mail.not_shown) return nothing(mail.not_shown);
  if (!mail.files.length) return nothing("No attachments.");
  return h("ul.files", null, mail.files.map((file, place) => {
    const source = `${path}/files/${place}`;
    const shown = h("div.shown", { hidden: true });
    const isPdf = /^application\/pdf$/i.test(file.content_type) && navigator.pdfViewerEnabled;
    if (PICTURE.test(file.content_type)) {
      shown.hidden = false;
      fill(shown, h("img", { src: address(source), alt: file.filename, loading: "lazy", onerror: () => { shown.hidden = true; } }));
    }
    return h("li", null,
      h("span.kind", { "aria-hidden": "true" }, extension(file)),
      h("div", null, h("strong", null, foreign(file.filename)),
        h("span.soft", null, foreign(file.content_type), ` · ${bytes(file.size)}`, file.content_id && [" · shown as ", h("code", null, foreign(`cid:${file.content_id}`))])),
      isPdf && h("button.small", { type: "button", "aria-expanded": "false", "aria-label": `Show ${file.filename}`, onclick: ({ currentTarget: button }) => {
        shown.hidden = !shown.hidden;
        button.setAttribute("aria-expanded", !shown.hidden);
        // A frame with `sandbox` can't show PDFs; the response has a policy with the same effect.
        if (shown.hidden) fill(shown);
        else fill(shown, h("iframe", { referrerpolicy: "no-referrer", title: file.filename, src: address(source, { as: "pdf" }) }));
      } }, "Show"),
      h("a.button.small", { href: address(source), download: "", "aria-label": `Download ${file.filename}` }, glyph("M10 3v9m-4-3.500 4 4 4-4M4 16.500h12"), "Download"),
      shown);
  }));
}

function extension(file) {
  const found = /\.([A-Za-z0-9]{1,4})$/.exec(file.filename);
  return (found?.[1] ?? file.content_type.split("/")[1]?.slice(0, 4) ?? "?").toLowerCase();
}
