// Shared helpers.
import assert from 'node:assert/strict';

/** The data of a response that isn't an error. */
export const value = ({ data, error }) => {
  assert.equal(error, null, JSON.stringify(error));
  return data;
};

/** Checks that a response is an error of this name. */
export const refused = ({ data, error }, name) => {
  assert.equal(data, null, JSON.stringify(data));
  assert.equal(error.name, name, JSON.stringify(error));
};

/** An ID of no record. */
export const nothing = '4ef9a417-02e9-4d39-ad75-9611e0fcc33c';

/** The IDs of a page. */
export const ids = (page) => {
  assert.equal(page.object, 'list');
  assert.equal(typeof page.has_more, 'boolean');
  return page.data.map((item) => item.id);
};

/** Polls until `settled` holds for the response. */
export const eventually = async (ask, settled) => {
  for (let left = 200; left > 0; left -= 1) {
    const answer = value(await ask());
    if (settled(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('it did not come about within ten seconds');
};

/** Receives a mail; only the sandbox defines how one arrives. */
export const receive = async (client, mail) => {
  const answer = await fetch(`${client.baseUrl}/_/received`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(mail),
  });
  assert.equal(answer.status, 201);
  return (await answer.json()).id;
};
