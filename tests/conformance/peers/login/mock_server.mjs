// npm `oauth2-mock-server`: a third-party authorization server for tests, and an API at another origin that names it (RFC 9728). Refresh tokens
// rotate, and the API accepts an access token once, as if it had expired in between.
import { createServer } from 'node:http';
import { OAuth2Server } from 'oauth2-mock-server';

const authorization = new OAuth2Server();
await authorization.issuer.keys.generate('RS256');
await authorization.start(0, '127.0.0.1');
const counted = { refreshed: 0, sent: 0 };
authorization.service.on('beforeResponse', (response, { body }) => {
  // Without it, the scope is `dummy`.
  response.body.scope = 'emails:send';
  if (body.grant_type === 'refresh_token') counted.refreshed += 1;
});
authorization.service.on('beforeTokenSigning', (token) => {
  token.payload.jti = crypto.randomUUID();
});

const used = new Set();
const api = createServer((request, response) => {
  const answer = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  if (request.url === '/.well-known/oauth-protected-resource') {
    answer(200, { resource: url, authorization_servers: [authorization.issuer.url] });
  } else if (request.url === '/_/counted') {
    answer(200, counted);
  } else if (request.url !== '/emails') {
    answer(404, { statusCode: 404, name: 'not_found', message: 'There is no such route.' });
  } else if (token === '' || used.has(token)) {
    answer(401, { statusCode: 401, name: 'invalid_access_token', message: 'The access token is invalid.' });
  } else {
    used.add(token);
    counted.sent += 1;
    answer(200, { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' });
  }
});
let url;
api.listen(0, '127.0.0.1', () => {
  url = `http://127.0.0.1:${api.address().port}`;
  console.log(url);
});
