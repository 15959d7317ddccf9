// Desktop notifications for new mails: off until the user enables them, and shown only while the page isn't in front.

import { byId, keep, kept, plain, toast } from "./dom.js";
import { nameOf } from "./format.js";
import { on, stayIf } from "./live.js";

/** If more mails than this arrive together, they share one notification. */
const MAX_SINGLE = 3;

let wanted = false;

export function notifyTool() {
  const button = byId("notify");
  // Browsers provide them only to secure origins, such as this machine.
  button.hidden = !("Notification" in window) || !isSecureContext;
  if (button.hidden) return;
  set(kept("notify") === "on" && Notification.permission === "granted");
  button.addEventListener("click", async () => {
    if (wanted) set(false);
    else if (await Notification.requestPermission() === "granted") set(true);
    else toast("The browser doesn't allow notifications from this page.", true);
    keep("notify", wanted ? "on" : "off");
  });
  function set(value) {
    wanted = value;
    button.setAttribute("aria-pressed", wanted);
    button.title = wanted ? "Stop notifications of new mails" : "Notify of new mails";
  }
}

stayIf(() => wanted);
on("news", ({ mails, received }) => {
  if (!wanted || (!document.hidden && document.hasFocus())) return;
  const fresh = [...mails.map((mail) => ["sent", mail]), ...received.map((mail) => ["received", mail])];
  if (fresh.length > MAX_SINGLE) show(`${fresh.length} new mails`, "", "#/sent", "many");
  else for (const [tray, mail] of fresh) {
    const people = tray === "sent" ? `To ${plain(nameOf(mail.to[0] ?? mail.cc[0] ?? mail.bcc[0]))}` : `From ${plain(nameOf(mail.from))}`;
    show(plain(mail.subject) || "no subject", people, `#/${tray}/${mail.id}`, mail.id);
  }
});

/** The browser shows both texts unchanged. The tag merges notifications from several open pages. */
function show(title, body, hash, tag) {
  const one = new Notification(title.slice(0, 120), { body: body.slice(0, 120), tag, icon: "assets/icon.svg" });
  one.onclick = () => { focus(); location.hash = hash; one.close(); };
}
