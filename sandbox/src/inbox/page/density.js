// The density of the list: everything about each mail, or two lines. The choice is stored in the browser.

import { glyph, h, keep, kept } from "./dom.js";

let compact = kept("density") === "compact";

/** Applies the choice to the rows of a list. */
export const density = (rows) => rows.classList.toggle("compact", compact);

export function densityButton() {
  return h("button.small.icon", { type: "button", "data-act": "density", title: "Compact rows", "aria-label": "Compact rows", "aria-pressed": compact, onclick: ({ currentTarget: button }) => {
    compact = !compact;
    button.setAttribute("aria-pressed", compact);
    for (const rows of document.querySelectorAll(".rows")) density(rows);
    keep("density", compact ? "compact" : "comfortable");
  } }, glyph("M4 5h12M4 8.500h12M4 12h12M4 15.500h12"));
}
