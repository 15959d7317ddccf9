// The npm client `openid-client`, used as in its documentation: discovery, the code flow with PKCE, a refresh, a revocation.
import assert from 'node:assert/strict';
import * as oauth from 'openid-client';
import { visit } from './browser.mjs';

const base = process.env.PEER_BASE_URL;
const redirect = 'http://127.0.0.1:4711/callback';

const config = await oauth.discovery(new URL(base), 'idempost-cli', undefined, oauth.None(), {
  algorithm: 'oauth2',
  execute: [oauth.allowInsecureRequests],
});
const verifier = oauth.randomPKCECodeVerifier();
const state = oauth.randomState();
const address = oauth.buildAuthorizationUrl(config, {
  redirect_uri: redirect,
  scope: 'full_access emails:send',
  state,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
});
const back = await visit(address, (url) => url.startsWith(redirect));
const tokens = await oauth.authorizationCodeGrant(config, new URL(back), { pkceCodeVerifier: verifier, expectedState: state });
assert.equal(tokens.expires_in, 900);
assert.equal(tokens.scope, 'full_access emails:send');

async function status(token) {
  const answer = await oauth.fetchProtectedResource(config, token, new URL('/emails', base), 'GET').catch((error) => error);
  return answer.status;
}
assert.equal(await status(tokens.access_token), 200);

const next = await oauth.refreshTokenGrant(config, tokens.refresh_token);
assert.notEqual(next.refresh_token, tokens.refresh_token);
assert.equal(await status(next.access_token), 200);

await oauth.tokenRevocation(config, next.refresh_token);
assert.equal(await status(next.access_token), 401);
await assert.rejects(oauth.refreshTokenGrant(config, next.refresh_token), (error) => error.error === 'invalid_grant');
console.log('npm openid-client: discovery, code with PKCE, refresh, revocation');
