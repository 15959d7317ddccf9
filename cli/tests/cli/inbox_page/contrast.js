// The texts whose contrast with their background is less than 4.5 to 1 (WCAG 2, AA).
const brightness = (colour) => {
  const [red, green, blue] = colour.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const colour = numbers(getComputedStyle(element).backgroundColor);
    if (colour.length === 3 || colour[3] > 0.9) return colour.slice(0, 3);
  }
  return [255, 255, 255];
};
const faint = new Set();
for (const element of document.querySelectorAll("body *")) {
  const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
  if (!hasText || !element.checkVisibility() || element.closest(".only-heard")) continue;
  const [more, less] = [brightness(numbers(getComputedStyle(element).color)), brightness(behind(element))].sort((one, other) => other - one);
  if ((more + 0.05) / (less + 0.05) < 4.5) faint.add(`${element.tagName}.${element.className}: ${element.textContent.slice(0, 30)}`);
}
return [...faint];
