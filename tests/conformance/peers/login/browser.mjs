// A person with a browser: opens an address, fills in every form on the way with what is in it already (or a name), presses the first button, and
// follows each redirect to its end, which is the page of the program that asked. `visit` is for scripts; as a program it takes the address.
import { pathToFileURL } from 'node:url';

function attribute(tag, name) {
  const found = tag.match(new RegExp(`\\s${name}=(?:"([^"]*)"|([^\\s>]+))`));
  return found?.[1] ?? found?.[2];
}

// Cookies by host and port, as far as a flow of one minute needs them.
class Browser {
  jars = new Map();

  jar(url) {
    const host = new URL(url).host;
    if (!this.jars.has(host)) this.jars.set(host, new Map());
    return this.jars.get(host);
  }

  // Goes to an address and on from there; `stop` says where the way ends without a visit.
  async go(url, form, stop) {
    if (stop?.(String(url))) return { url: String(url) };
    const jar = this.jar(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = cookie ? { cookie } : {};
    const answer = await fetch(url, { method: form ? 'POST' : 'GET', body: form, redirect: 'manual', headers });
    for (const line of answer.headers.getSetCookie()) {
      const [name, ...value] = line.split(';')[0].split('=');
      jar.set(name, value.join('='));
    }
    const location = answer.headers.get('location');
    if (location) return this.go(new URL(location, url), undefined, stop);
    return { url: String(url), status: answer.status, text: await answer.text() };
  }
}

export async function visit(address, stop) {
  const browser = new Browser();
  let page = await browser.go(address, undefined, stop);
  for (let forms = 0; forms < 5; forms += 1) {
    const [form] = page.text?.match(/<form[^]*?<\/form>/) ?? [];
    if (!form) break;
    const fields = new URLSearchParams();
    for (const [input] of form.matchAll(/<input[^>]*>/g)) {
      const name = attribute(input, 'name');
      if (name) fields.set(name, attribute(input, 'value') ?? 'ada');
    }
    const button = form.match(/<button[^>]*>/)?.[0] ?? '';
    if (attribute(button, 'name')) fields.set(attribute(button, 'name'), attribute(button, 'value'));
    const action = attribute(form.match(/<form[^>]*>/)[0], 'action') ?? page.url;
    page = await browser.go(new URL(action, page.url), fields, stop);
  }
  if (page.status >= 400) throw new Error(`the way ended at ${page.url} with ${page.status}: ${page.text}`);
  return page.url;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await visit(process.argv[2]);
