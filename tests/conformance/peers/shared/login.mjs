// A user who allows a program to send from the account of an API key. The redirect returns to the sandbox, which doesn't serve that path:
// only its URL matters.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';

/** Returns an access token. */
export async function login({ baseUrl, key }) {
  const verifier = randomBytes(32).toString('base64url');
  const client = { client_id: 'idempost-cli', redirect_uri: `${baseUrl}/callback` };
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const query = { ...client, response_type: 'code', scope: 'emails:send', state: 'node', code_challenge: challenge, code_challenge_method: 'S256' };
  const page = await fetch(`${baseUrl}/oauth/authorize?${new URLSearchParams(query)}`);
  const [, token] = (await page.text()).match(/name=token value="([^"]*)"/);
  const cookie = page.headers.get('set-cookie').split(';')[0];
  const body = new URLSearchParams({ token, account: key, decision: 'allow' });
  const back = await fetch(page.url, { method: 'POST', headers: { cookie, origin: baseUrl }, body });
  const code = new URL(back.url).searchParams.get('code');
  const exchange = { ...client, grant_type: 'authorization_code', code, code_verifier: verifier };
  const answer = await fetch(`${baseUrl}/oauth/token`, { method: 'POST', body: new URLSearchParams(exchange) });
  assert.equal(answer.status, 200);
  return (await answer.json()).access_token;
}
