// Requests to the sandbox: same origin, one account.

import { quoted } from "./format.js";

/** Identifies the account: an API key, or an ID from the list of accounts, which only the sandbox's own routes accept. */
export const key = new URLSearchParams(location.search).get("key") || "sb_local";
export const isKey = !key.startsWith("account_");
export const label = isKey ? key : "this account";

/** The sandbox's base URL without a trailing slash, as used to load this module: a reverse proxy can add a path. User and password of the page's own URL,
 * which `fetch` rejects, aren't part of it. */
export const base = location.origin + new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

/** Shell snippets that authenticate as this account; if the key isn't known, they use a variable. */
export const shell = {
  variables: `export IDEMPOST_BASE_URL=${base}${isKey ? ` IDEMPOST_API_KEY=${quoted(key)}` : ""}`,
  header: isKey ? quoted(`Authorization: Bearer ${key}`) : `"Authorization: Bearer $IDEMPOST_API_KEY"`,
};

/** An error response of the sandbox. */
export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

/** A URL that contains the key, for requests that can't send a header: frames, downloads, streams. */
export function address(path, parameters = {}) {
  const query = new URLSearchParams({ ...parameters, key });
  return `${base}${path}?${query}`;
}

// Routes for all accounts. If the sandbox has a password, they need it, and the browser sends it if the page sends no other credential.
const OF_ALL = /^\/_\/(tenants|faults)\b/;

/** Sends a request. `where` is a path on the sandbox, or a URL. */
async function ask(method, where, body, options) {
  const headers = {};
  const ofAll = OF_ALL.test(where);
  if (!ofAll) headers.authorization = `Bearer ${key}`;
  const url = ofAll ? address(where) : where.startsWith("/") ? base + where : where;
  if (body !== undefined) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), ...options });
  } catch {
    throw new Refused(0, "The sandbox doesn't respond. Is it still running?");
  }
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, problem.message ?? `The sandbox responded with ${answer.status}.`);
  }
  return answer;
}

export const get = async (path, parameters) => {
  const query = parameters ? `?${new URLSearchParams(Object.entries(parameters).filter(([, value]) => value))}` : "";
  return (await ask("GET", path + query)).json();
};
export const post = async (path, body) => (await ask("POST", path, body)).json();
export const patch = async (path, body) => (await ask("PATCH", path, body)).json();
export const remove = async (path, body) => (await ask("DELETE", path, body)).json();

/** Sends a deletion while the page is being left, ignoring the response. */
export function leavingRemove(path, body) { ask("DELETE", path, body, { keepalive: true }).catch(() => {}); }

/** The beginning of a text, reading at most `max` bytes. */
export async function beginning(path, max) {
  const answer = await ask("GET", path);
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let text = "", read = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), complete: true };
    const rest = max - read;
    text += decoder.decode(value.subarray(0, rest), { stream: true });
    read += value.length;
    if (value.length > rest) {
      reader.cancel().catch(() => {});
      return { text, complete: false };
    }
  }
}
