// Sets the theme before the first paint. The default is the system's theme.
(() => {
  const root = document.documentElement;
  const chosen = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const set = (theme) => { if (theme === "dark" || theme === "light") root.dataset.theme = theme; };
  set(chosen());
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const label = () => { button.setAttribute("aria-label", dark() ? "Light colours" : "Dark colours"); };
    label();
    button.addEventListener("click", () => {
      set(dark() ? "light" : "dark");
      label();
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* The choice then lasts until the page is closed. */ }
    });
  });
})();
