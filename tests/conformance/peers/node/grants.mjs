// OAuth grants: a user allows a program access to the account, and the account revokes it.
import assert from 'node:assert/strict';
import { login } from './login.mjs';
import { nothing, refused, value } from './value.mjs';

export default async (client) => {
  const token = await login(client);
  const send = () => fetch(`${client.baseUrl}/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'hi@acme.test', to: 'ada@example.com', subject: 'Granted', text: 'It works' }),
  });
  assert.equal((await send()).status, 200);
  const [grant] = value(await client.oauthGrants.list()).data;
  assert.deepEqual([grant.client_id, grant.scopes, grant.revoked_at], ['idempost-cli', ['emails:send'], null]);
  const revoked = value(await client.oauthGrants.revoke(grant.id));
  assert.deepEqual([revoked.object, revoked.id], ['oauth_grant', grant.id]);
  assert.notEqual(revoked.revoked_at, null);
  assert.equal((await send()).status, 401);
  refused(await client.oauthGrants.revoke(nothing), 'not_found');
};
