// A certified third-party authorization server, with an API of one route: refresh tokens rotate at every use, reuse revokes the grant, and
// the API accepts an access token once, as if it had expired in between.
import Provider from 'oidc-provider';

const provider = new Provider('http://127.0.0.1', {
  clients: [
    {
      client_id: 'idempost',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      redirect_uris: ['http://127.0.0.1/callback'],
    },
  ],
  scopes: ['emails:send', 'full_access'],
  features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true }, revocation: { enabled: true } },
  issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  ttl: { AccessToken: 900, DeviceCode: 600, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600 },
  cookies: { keys: ['not a secret: it lives as long as one test'] },
});

const counted = { refreshed: 0, sent: 0 };
const used = new Set();
provider.on('grant.success', ({ oidc }) => {
  if (oidc.params.grant_type === 'refresh_token') counted.refreshed += 1;
});

provider.use(async (context, next) => {
  if (context.path === '/_/counted') {
    context.body = counted;
  } else if (context.method === 'POST' && context.path === '/emails') {
    const token = await provider.AccessToken.find((context.get('authorization') || '').replace(/^Bearer /, ''));
    if (!token?.isValid || !token.scopes.has('emails:send') || used.has(token.jti)) {
      context.status = 401;
      context.body = { statusCode: 401, name: 'invalid_access_token', message: 'The access token is invalid.' };
    } else {
      used.add(token.jti);
      counted.sent += 1;
      context.body = { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' };
    }
  } else {
    await next();
  }
});

const server = provider.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  // The port is known only now, and tokens contain their issuer.
  Object.defineProperty(provider, 'issuer', { value: url });
  console.log(url);
});
