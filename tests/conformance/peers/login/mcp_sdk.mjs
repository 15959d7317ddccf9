// npm `@modelcontextprotocol/sdk`: its OAuth client, as an MCP client uses it: the authorization server is found from the API's metadata, under the
// name `localhost`; registration, code with PKCE, refresh.
import assert from 'node:assert/strict';
import { auth, extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js';
import { visit } from './browser.mjs';

const base = process.env.PEER_BASE_URL.replace('127.0.0.1', 'localhost');
const redirect = 'http://127.0.0.1:4711/callback';
const kept = {};
const provider = {
  redirectUrl: redirect,
  clientMetadata: {
    client_name: 'An MCP client',
    redirect_uris: [redirect],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'full_access',
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  redirectToAuthorization: (address) => void (kept.address = address),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
};
const send = (token) => fetch(`${base}/emails`, token ? { headers: { authorization: `Bearer ${token}` } } : {});

const refused = await send();
const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
assert.equal(resourceMetadataUrl.origin, base);
assert.equal(await auth(provider, { serverUrl: base, resourceMetadataUrl, scope: 'full_access' }), 'REDIRECT');
const back = new URL(await visit(String(kept.address), (url) => url.startsWith(redirect)));
const authorizationCode = back.searchParams.get('code');
assert.equal(await auth(provider, { serverUrl: base, resourceMetadataUrl, authorizationCode }), 'AUTHORIZED');
assert.equal((await send(kept.tokens.access_token)).status, 200);

const before = kept.tokens;
assert.equal(await auth(provider, { serverUrl: base, resourceMetadataUrl }), 'AUTHORIZED');
assert.notEqual(kept.tokens.refresh_token, before.refresh_token);
assert.equal((await send(kept.tokens.access_token)).status, 200);
console.log('npm @modelcontextprotocol/sdk: resource metadata from a 401, registration, code with PKCE, refresh, at localhost');
