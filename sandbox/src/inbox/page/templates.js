// Previews of templates with values.

import { address, get } from "./api.js";
import { framed } from "./bodies.js";
import { back, debounced, fill, foreign, glyph, h, nothing, tabbed } from "./dom.js";
import { on } from "./live.js";

let current = null;
on("hello", () => current?.load());
on("news", (news) => { if (news.requests) current?.load(); });

export const templates = {
  name: "templates",
  enter(pane) { current = new TemplateList(pane); },
  leave() { current = null; },
  async show(id, pane) {
    const asked = (current.shown = {});
    if (!id) { fill(pane, nothing("Select a template to preview it with values.")); return; }
    const list = current;
    await list.ready;
    if (current?.shown !== asked) return;
    const template = list.items.find((one) => one.id === id || one.alias === id);
    fill(pane, template ? preview(template) : nothing("Template not found."));
  },
};

class TemplateList {
  items = [];

  constructor(pane) {
    this.rows = h("ul.rows", { "aria-label": "Templates" });
    this.note = h("div.note");
    this.search = h("input", { type: "search", placeholder: "Name or alias", "aria-label": "Part of the name or alias", "aria-keyshortcuts": "/", autocomplete: "off", oninput: () => this.draw() });
    fill(pane, h("div.head", null, h("div.find", null, glyph("M8.500 3.500a5 5 0 1 1 0 10 5 5 0 0 1 0-10zm4 9 4 4"), this.search)), h("div.scroll", null, this.rows, this.note));
    this.ready = this.load();
  }

  async load() {
    try {
      const items = [];
      // Lists at most the newest 1,000 templates.
      for (let after = ""; items.length < 1000;) {
        const page = await get("/_/templates", { limit: 100, after });
        items.push(...page.data);
        if (!page.has_more) break;
        after = items.at(-1).id;
      }
      if (JSON.stringify(items) === JSON.stringify(this.items) && items.length) return;
      this.items = items;
      this.draw();
    } catch (error) { fill(this.note, h("p.bad", null, error.message)); }
  }

  draw() {
    const wanted = this.search.value.trim().toLowerCase();
    const shown = this.items.filter((one) => `${one.name} ${one.alias ?? ""}`.toLowerCase().includes(wanted));
    fill(this.rows, shown.map((one) => h("li", null, h("a.row", { href: `#/templates/${one.id}`, "data-id": one.id, "aria-current": location.hash === `#/templates/${one.id}` ? "true" : null },
      h("span.who", null, foreign(one.name)), h("span.foot", null, one.published ? h("span.event.good", null, "published") : h("span.event.calm", null, "draft"), one.edited && h("span.event.warn", null, "edited"), one.alias && h("span.tag", null, one.alias))))));
    fill(this.note, !shown.length && [h("p", null, this.items.length ? "No templates match." : "There are no templates yet."), !this.items.length && h("p.soft", null, h("code", null, "idempost templates create --help"))]);
  }
}

function preview(template) {
  const path = `/_/templates/${encodeURIComponent(template.id)}`;
  const inputs = template.variables.map((variable) => [variable, h("input", { type: variable.type === "number" ? "number" : "text", step: "any", placeholder: variable.fallback_value ?? `{{{${variable.key}}}}`, autocomplete: "off", oninput: () => later() })]);
  const to = h("input", { type: "text", inputmode: "email", placeholder: "contact address", autocomplete: "off", oninput: () => later() });
  const version = h("select.small", { "aria-label": "Version", onchange: () => draw() }, h("option", { value: "newest" }, "Latest version"), template.published && h("option", { value: "published" }, "Published version"));
  const holder = h("div.rendered");
  const missing = h("p.warn", { role: "status" });
  let tab = "html", turn = 0;
  const draw = async () => {
    const asked = ++turn;
    const variables = {};
    for (const [{ key, type }, input] of inputs) if (input.value) variables[key] = type === "number" ? Number(input.value) : input.value;
    const query = { variables: JSON.stringify(variables), to: to.value.trim(), version: version.value };
    try {
      const shown = await get(`${path}/preview`, query);
      if (asked !== turn) return;
      missing.textContent = shown.missing.length ? `A send has to bring: ${shown.missing.join(", ")}` : "";
      const { bar, panel } = tabbed("Bodies", [
        ["html", "HTML", () => framed((parameters) => address(`${path}/preview.html`, { ...query, ...parameters }), shown.html_size, "The template's HTML")],
        ["text", "Text", () => (shown.text === null ? nothing("No text body.") : h("pre.text", { dir: "auto" }, foreign(shown.text, true)))],
      ], tab, (name) => { tab = name; });
      fill(holder, h("dl.meta", null,
        h("div", null, h("dt", null, "Subject"), h("dd", null, shown.subject === null ? h("i", null, "set by the send") : foreign(shown.subject))),
        h("div", null, h("dt", null, "From"), h("dd", null, shown.from === null ? h("i", null, "set by the send") : foreign(shown.from)))), bar, panel);
    } catch (error) { if (asked === turn) fill(holder, h("p.bad", null, error.message)); }
  };
  const later = debounced(draw, 250);
  draw();
  return h("article.mail.template", null,
    h("header", null, h("div.line", null, back("#/templates"), h("h1", null, foreign(template.name)), version),
      h("form.values", { onsubmit: (event) => event.preventDefault() }, inputs.map(([{ key }, input]) => h("label", null, key, input)), h("label", null, "Recipient", to)), missing),
    holder);
}
