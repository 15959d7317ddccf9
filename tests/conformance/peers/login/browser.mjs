// A user with a browser: opens a URL, submits every form on the way with its default values (or a name) using its first button, and
// follows the redirects to the end, which is the page of the program. `visit` is for scripts; as a program it takes
// the URL, and optionally the start of the one to stop at and print.
import { request } from 'node:http';
import { pathToFileURL } from 'node:url';

// A request like a browser navigation. (`fetch` identifies itself as a script, which a strict server rejects.)
function ask(url, headers, body) {
  const kind = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  const options = { method: body === undefined ? 'GET' : 'POST', headers: { ...headers, ...kind } };
  return new Promise((resolve, reject) => {
    const asked = request(url, options, async (answer) => {
      let text = '';
      for await (const piece of answer.setEncoding('utf8')) text += piece;
      resolve({ status: answer.statusCode, headers: answer.headers, text });
    });
    asked.on('error', reject).end(body);
  });
}

function attribute(tag, name) {
  const found = tag.match(new RegExp(`\\s${name}=(?:"([^"]*)"|([^\\s>]+))`));
  return found?.[1] ?? found?.[2];
}

// Cookies by host and port, sufficient for a flow of one minute.
class Browser {
  jars = new Map();

  jar(url) {
    const host = new URL(url).host;
    if (!this.jars.has(host)) this.jars.set(host, new Map());
    return this.jars.get(host);
  }

  // Opens a URL and follows it; it stops at `stop` without requesting it.
  async go(url, form, stop) {
    if (stop?.(String(url))) return { url: String(url) };
    const jar = this.jar(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await ask(url, cookie ? { cookie } : {}, form?.toString());
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [name, ...value] = line.split(';')[0].split('=');
      jar.set(name, value.join('='));
    }
    const { location } = answer.headers;
    if (location) return this.go(new URL(location, url), undefined, stop);
    return { url: String(url), status: answer.status, text: answer.text };
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

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [address, end] = process.argv.slice(2);
  const last = await visit(address, end && ((url) => url.startsWith(end)));
  if (end) console.log(last);
}
