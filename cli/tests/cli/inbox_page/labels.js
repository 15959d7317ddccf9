// The texts of the page that break where they must not: inside words of its own text, and inside labels of controls, which stay on one line.
const LABELS = ".bar nav a, .brand span, .tools button, .tray, .tray *, button, .button, .tab, .tab *, .event, .panelbar *, label, select";
const [width, fonts, done] = arguments;
const lines = (range) => {
  const boxes = range.getClientRects();
  return boxes.length < 2 ? boxes.length : new Set([...boxes].filter((box) => box.width > 0.5).map((box) => Math.round(box.bottom / 4))).size;
};
const broken = new Set();
const check = (font) => {
  const add = (found) => broken.add(`${location.hash}, ${font}: ${found}`);
  document.body.style.fontFamily = `'${font}'`;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    const own = parent.checkVisibility() && !parent.closest("bdi, pre, code, kbd, script, noscript, .only-heard, .tag, #key, .toast");
    if (!own) continue;
    range.selectNodeContents(node);
    if (lines(range) < 2) continue;
    for (const { 0: word, index } of node.data.matchAll(/[^\s]+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      // A break after a hyphen or a slash isn't inside a word.
      if (!/[-/@.]/.test(word) && lines(range) > 1) add(`the word ${word} in ${parent.tagName}.${parent.className}`);
    }
  }
  for (const element of document.querySelectorAll(LABELS)) {
    if (!element.checkVisibility() || element.closest(".only-heard, bdi, #key, li.more") || element.matches(".panelbar p, .panelbar ul *")) continue;
    for (const node of element.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      range.selectNodeContents(node);
      if (lines(range) > 1) add(`the label ${node.data.trim()} in ${element.tagName}.${element.className}`);
    }
  }
  // The page itself never scrolls sideways, and no control sticks out of the window.
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > room) add(`the page is ${document.documentElement.scrollWidth} px wide`);
  for (const element of document.querySelectorAll(".bar *, .head *, .bulk *")) {
    const { left, right, width } = element.getBoundingClientRect();
    if (width > 0 && element.checkVisibility() && !element.closest(".only-heard, svg") && (left < -0.5 || right > room + 0.5)) add(`${element.tagName}.${element.className}#${element.id} ends at ${Math.round(right)} px`);
  }
};
// Once the page has handled the change of its size, before and in the next frame.
const checked = () => {
  if (!matchMedia(`(width: ${width}px)`).matches) return requestAnimationFrame(checked);
  setTimeout(() => { fonts.forEach(check); done([...broken]); });
};
requestAnimationFrame(checked);
