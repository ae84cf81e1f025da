'use strict';
// Push to a receiver that trusts nobody without a token.

const assert = require('node:assert/strict');
const {createPublicKey, verify} = require('node:crypto');
const {once} = require('node:events');
const {createServer} = require('node:http');
const {describe, test} = require('node:test');
const {Bench, Code, ENDPOINT, sleep, until} = require('../bench.js');

const AUDIENCE = 'https://receiver.example.com';
const ACCOUNT = 'pusher@demo.iam.gserviceaccount.com';
const DATA = Buffer.from([0, 255]);

/** Keeps each request; refuses the first, takes the others. */
async function receive(t) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    response.writeHead(requests.length === 0 ? 500 : 204).end();
    requests.push({authorization: request.headers.authorization, body: JSON.parse(body)});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return {requests, url: `http://127.0.0.1:${server.address().port}/push?token=t`};
}

/** The claims of a token that one of the server's own keys has signed. */
async function verified(token) {
  const [header, claims, signature] = token.split('.');
  const part = text => JSON.parse(Buffer.from(text, 'base64url'));
  const {alg, kid} = part(header);
  assert.equal(alg, 'RS256');
  const {keys} = await (await fetch(`http://${ENDPOINT}/oauth2/v3/certs`)).json();
  const key = createPublicKey({key: keys.find(each => each.kid === kid), format: 'jwk'});
  const signed = Buffer.from(`${header}.${claims}`);
  assert.ok(verify('sha256', signed, key, Buffer.from(signature, 'base64url')));
  return part(claims);
}

describe('push', () => {
  // @spec PSH-10 PSH-50 PSH-51
  test('push with token', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const {requests, url} = await receive(t);
    const pushConfig = {
      pushEndpoint: url,
      oidcToken: {serviceAccountEmail: ACCOUNT, audience: AUDIENCE},
    };
    let name;
    try {
      name = await bench.subscription('subscription', {pushConfig});
    } catch (error) {
      if (error.code !== Code.UNIMPLEMENTED) throw error;
      t.skip(`the server does not push: ${error.message}`);
      return;
    }
    const id = await topic.publishMessage({data: DATA, attributes: {color: 'red'}});
    await until(() => requests.length === 2); // one is refused, one is taken
    for (const {authorization, body} of requests) {
      assert.equal(body.subscription, name);
      assert.equal(body.message.messageId, id);
      assert.equal(body.message.message_id, id);
      assert.deepEqual(Buffer.from(body.message.data, 'base64'), DATA);
      assert.deepEqual(body.message.attributes, {color: 'red'});
      assert.match(authorization ?? '', /^Bearer /);
      const claims = await verified(authorization.slice('Bearer '.length));
      assert.equal(claims.aud, AUDIENCE);
      assert.equal(claims.email, ACCOUNT);
      assert.equal(claims.email_verified, true);
      assert.equal(claims.exp, claims.iat + 3600);
    }
    await sleep(1_500);
    assert.equal(requests.length, 2);
  });
});
