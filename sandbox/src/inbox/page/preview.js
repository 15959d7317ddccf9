// The display of a mail's HTML: the width and colors of its frame, and its remote images.

import { get, post } from "./api.js";
import { fill, foreign, glyph, h } from "./dom.js";
import { bytes } from "./format.js";

const WIDTHS = [320, 375, 600, 768, 1024, 1440];
const [NARROWEST, WIDEST] = [200, 2400];
const COLORS = [["light", "Light"], ["dark", "Dark"], ["inverted", "Inverted"]];
const TITLES = { light: "Light", dark: "Dark, with the mail's own styles", inverted: "Colors inverted, as some mail clients do in dark mode" };
/** Settings kept from one mail to the next. Without a width, the frame fills the pane. */
const chosen = { width: null, colors: "light" };

/** An area for frames, and its controls. `source` returns the document's URL for these parameters. */
export function preview(title, source) {
  const parameters = {};
  let frame = null;
  const viewport = h("div.viewport");
  const handle = h("div.handle", { role: "slider", tabindex: "0", "aria-label": "Width of the preview", "aria-valuemin": NARROWEST, "aria-valuemax": WIDEST, title: "Drag, or use the arrow keys" });
  const stage = h("div.stage", null, viewport, handle);
  const scale = h("span.soft.hint", { role: "status" });
  const input = h("input.px", { type: "number", min: NARROWEST, max: WIDEST, step: "1", placeholder: "auto", "aria-label": "Width in pixels", onchange: () => {
    if (input.value === "") setWidth(null);
    else if (input.reportValidity()) setWidth(Number(input.value));
  } });
  const widths = [null, ...WIDTHS].map((width) => h("button.small", { type: "button", "data-width": width ?? "fit", onclick: () => setWidth(width) }, width ?? "Fit"));
  const colors = COLORS.map(([name, label]) => h("button.small", { type: "button", "data-colors": name, title: TITLES[name], onclick: () => {
    const reload = (name === "inverted") !== (chosen.colors === "inverted");
    chosen.colors = name;
    draw();
    if (reload && frame) show();
  } }, label));

  /** The width of the mail and the available width; a wide mail is scaled down. */
  function measure() {
    const room = Math.max(NARROWEST, stage.clientWidth - (chosen.width ? handle.offsetWidth : 0));
    return { width: chosen.width ?? room, room };
  }
  function setWidth(width) {
    chosen.width = width === null ? null : Math.min(WIDEST, Math.max(NARROWEST, Math.round(width)));
    draw();
  }
  function draw() {
    const narrow = chosen.width !== null;
    stage.classList.toggle("sized", narrow);
    const { width, room } = measure();
    const factor = narrow ? Math.min(1, room / width) : 1;
    viewport.style.width = narrow ? `${width * factor}px` : "";
    if (frame) {
      frame.dataset.colors = chosen.colors;
      frame.style.width = narrow ? `${width}px` : "";
      frame.style.height = factor < 1 ? `${100 / factor}%` : "";
      frame.style.transform = factor < 1 ? `scale(${factor})` : "";
    }
    scale.textContent = factor < 1 ? `${Math.round(factor * 100)} %` : "";
    input.value = chosen.width ?? "";
    handle.setAttribute("aria-valuenow", Math.round(width));
    for (const button of widths) button.setAttribute("aria-pressed", button.dataset.width === String(chosen.width ?? "fit"));
    for (const button of colors) button.setAttribute("aria-pressed", button.dataset.colors === chosen.colors);
  }
  function show(more) {
    Object.assign(parameters, more);
    const page = source({ ...parameters, ...(chosen.colors === "inverted" && { colors: "inverted" }) });
    frame = h("iframe", { sandbox: "", referrerpolicy: "no-referrer", title, src: page });
    let again = 0;
    const own = frame;
    // The page's policy blocks links that target this frame; the document is then reloaded.
    frame.addEventListener("load", () => { if (again++ > 0 && again < 4) own.src = page; });
    fill(viewport, frame);
    draw();
  }

  handle.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -10, ArrowRight: 10, ArrowDown: -10, ArrowUp: 10, PageDown: -100, PageUp: 100 }[event.key];
    const end = { Home: NARROWEST, End: WIDEST }[event.key];
    if (!step && !end) return;
    event.preventDefault();
    event.stopPropagation();
    setWidth(end ?? measure().width + step);
  });
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    // Otherwise the frame would receive the pointer events.
    stage.classList.add("dragged");
    const left = viewport.getBoundingClientRect().left + viewport.clientWidth / 2;
    // The viewport is centered once it is narrower than the stage.
    const move = ({ clientX }) => setWidth(Math.min(stage.clientWidth - handle.offsetWidth, 2 * (clientX - left)));
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", (event) => {
      move(event);
      handle.removeEventListener("pointermove", move);
      stage.classList.remove("dragged");
    }, { once: true });
  });
  new ResizeObserver(draw).observe(stage);
  draw();
  const controls = [
    h("div.group.widths", { role: "group", "aria-label": "Width" }, widths, input, scale),
    h("div.group", { role: "group", "aria-label": "Colors" }, colors)];
  return { stage, viewport, controls, show };
}

/** The remote images of a mail: a list, and a button that makes the sandbox load them. `show` draws the mail with the loaded images. */
export function remoteImages(path, show) {
  const bar = h("div.panelbar.remote", { hidden: true });
  const draw = ({ can_load, total, images }) => {
    bar.hidden = !total;
    const hosts = new Map();
    for (const { host } of images) hosts.set(host, (hosts.get(host) ?? 0) + 1);
    const named = [...hosts].slice(0, 3).map(([host, count], place) => [place > 0 && ", ", foreign(host), hosts.size > 1 && ` (${count})`]);
    const loaded = images.filter(({ state }) => state === "loaded");
    const failed = images.filter(({ state }) => state === "failed");
    const plural = total === 1 ? "remote image" : "remote images";
    const button = (words) => can_load && h("button.small", { type: "button", "data-act": "images", onclick: load }, words);
    const from = [" from ", named, hosts.size > 3 && ` and ${hosts.size - 3} more`];
    if (!loaded.length && !failed.length) {
      fill(bar, glyph("M3 4.500h14v11H3zM3 13l4-4 3.500 3.500L13 10l4 4M12.500 7.500h.01"),
        h("span.hint", null, `${total.toLocaleString()} ${plural}`, from, !can_load && h("span.soft", null, ": the sandbox runs with --no-fetch")),
        button(total === 1 ? "Load remote image" : "Load remote images"));
      return;
    }
    fill(bar, glyph("M3 4.500h14v11H3zM3 13l4-4 3.500 3.500L13 10l4 4M12.500 7.500h.01"),
      h("span.hint", { role: "status" }, `${loaded.length} of ${total.toLocaleString()} ${plural} loaded`, from),
      h("span.soft.hint", null, bytes(loaded.reduce((sum, { size }) => sum + size, 0))),
      button("Load again"),
      failed.length > 0 && h("details.failed", null, h("summary", null, `${failed.length} not loaded`),
        h("ul", null, failed.map(({ url, reason }) => h("li", null, h("code", null, foreign(url.slice(0, 300))), h("span.soft", null, foreign(reason)))))));
  };
  const load = async ({ currentTarget: button }) => {
    button.disabled = true;
    button.textContent = "Loading …";
    try {
      draw(await post(`${path}/images`));
      show();
    } catch (error) { fill(bar, h("p.bad", null, error.message)); }
  };
  get(`${path}/images`).then((list) => {
    draw(list);
    if (list.images.some(({ state }) => state === "loaded")) show();
  }, () => {});
  return bar;
}
