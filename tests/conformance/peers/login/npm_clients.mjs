// Three npm clients for OAuth, each used as in its documentation: `oauth4webapi` as a client with a secret that registers itself, under the name
// `localhost`; `simple-oauth2`, which always authenticates with HTTP Basic; and `@badgateway/oauth2-client`, which discovers everything.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { OAuth2Client, generateCodeVerifier } from '@badgateway/oauth2-client';
import * as oauth from 'oauth4webapi';
import { AuthorizationCode } from 'simple-oauth2';
import { visit } from './browser.mjs';

const base = process.env.PEER_BASE_URL;
const redirect = 'http://127.0.0.1:4711/callback';
const back = (address) => visit(String(address), (url) => url.startsWith(redirect));
const status = async (token, at = base) => (await fetch(`${at}/emails`, { headers: { authorization: `Bearer ${token}` } })).status;

{
  const issuer = new URL(base.replace('127.0.0.1', 'localhost'));
  const insecure = { [oauth.allowInsecureRequests]: true };
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const metadata = { client_name: 'Shop', redirect_uris: [redirect], token_endpoint_auth_method: 'client_secret_basic' };
  const client = await oauth.processDynamicClientRegistrationResponse(await oauth.dynamicClientRegistrationRequest(server, metadata, insecure));
  const authentication = oauth.ClientSecretBasic(client.client_secret);
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const address = new URL(server.authorization_endpoint);
  for (const [name, value] of Object.entries({
    client_id: client.client_id, response_type: 'code', redirect_uri: redirect, scope: 'full_access', state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
  })) address.searchParams.set(name, value);
  // Also checks the issuer in the response (RFC 9207).
  const parameters = oauth.validateAuthResponse(server, client, new URL(await back(address)), state);
  const exchanged = await oauth.authorizationCodeGrantRequest(server, client, authentication, parameters, redirect, verifier, insecure);
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, exchanged);
  assert.equal(await status(tokens.access_token, issuer.origin), 200);
  const renewed = await oauth.refreshTokenGrantRequest(server, client, authentication, tokens.refresh_token, insecure);
  const next = await oauth.processRefreshTokenResponse(server, client, renewed);
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, authentication, next.refresh_token, insecure));
  assert.equal(await status(next.access_token, issuer.origin), 401);
  const resource = new URL(issuer);
  const protectedBy = await oauth.processResourceDiscoveryResponse(resource, await oauth.resourceDiscoveryRequest(resource, insecure));
  assert.deepEqual(protectedBy.authorization_servers, [issuer.origin]);
}
console.log('npm oauth4webapi: discovery at localhost, registration with a secret, code, issuer, refresh, revocation, resource metadata');

{
  const auth = { tokenHost: base, tokenPath: '/oauth/token', authorizePath: '/oauth/authorize', revokePath: '/oauth/revoke' };
  const flow = new AuthorizationCode({ client: { id: 'idempost-cli', secret: 'unused' }, auth, http: { json: true } }); // the response to a revocation is empty
  const verifier = randomBytes(32).toString('base64url');
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  const asked = { redirect_uri: redirect, scope: 'full_access', state: 'x', code_challenge, code_challenge_method: 'S256' };
  const code = new URL(await back(flow.authorizeURL(asked))).searchParams.get('code');
  const granted = await flow.getToken({ code, redirect_uri: redirect, code_verifier: verifier });
  assert.equal(await status(granted.token.access_token), 200);
  const next = await granted.refresh();
  assert.equal(await status(next.token.access_token), 200);
  await next.revoke('refresh_token');
  assert.equal(await status(next.token.access_token), 401);
}
console.log('npm simple-oauth2: code, refresh, revocation, with HTTP Basic authentication');

{
  const client = new OAuth2Client({ server: `${base}/`, discoveryEndpoint: '/.well-known/oauth-authorization-server', clientId: 'idempost-cli' });
  const codeVerifier = await generateCodeVerifier();
  const address = await client.authorizationCode.getAuthorizeUri({ redirectUri: redirect, state: 'x', codeVerifier, scope: ['full_access'] });
  const tokens = await client.authorizationCode.getTokenFromCodeRedirect(await back(address), { redirectUri: redirect, state: 'x', codeVerifier });
  const next = await client.refreshToken(tokens);
  assert.notEqual(next.refreshToken, tokens.refreshToken);
  await client.revoke(next, 'refresh_token');
  assert.equal(await status(next.accessToken), 401);
}
console.log('npm @badgateway/oauth2-client: discovery, code, refresh, revocation');
