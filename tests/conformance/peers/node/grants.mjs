// OAuth grants: a user allows a program access to the account, and the account revokes it.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { nothing, refused, value } from './value.mjs';

// The login itself is no part of the client. The redirect returns to the sandbox, which doesn't serve that path: only the URL matters.
async function login({ baseUrl, key }) {
  const verifier = randomBytes(32).toString('base64url');
  const client = { client_id: 'posthaste-cli', redirect_uri: `${baseUrl}/callback` };
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

export default async (client) => {
  const token = await login(client);
  const send = () => fetch(`${client.baseUrl}/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'hi@acme.test', to: 'ada@example.com', subject: 'Granted', text: 'It works' }),
  });
  assert.equal((await send()).status, 200);
  const [grant] = value(await client.oauthGrants.list()).data;
  assert.deepEqual([grant.client_id, grant.scopes, grant.revoked_at], ['posthaste-cli', ['emails:send'], null]);
  const revoked = value(await client.oauthGrants.revoke(grant.id));
  assert.deepEqual([revoked.object, revoked.id], ['oauth_grant', grant.id]);
  assert.notEqual(revoked.revoked_at, null);
  assert.equal((await send()).status, 401);
  refused(await client.oauthGrants.revoke(nothing), 'not_found');
};
