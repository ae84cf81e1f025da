'use strict';
// Acks that tell how they fared.

const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {AckResponses} = require('@google-cloud/pubsub');
const {Bench, numbered, publish} = require('../bench.js');

async function exactlyOnce(t) {
  const bench = new Bench(t);
  const topic = await bench.topic();
  const name = await bench.subscription('subscription', {enableExactlyOnceDelivery: true});
  return {topic, inbox: bench.listen(name, {settle: () => {}})};
}

describe('exactly once', {concurrency: true}, () => {
  // @spec EOD-01 EOD-06
  test('exactly once acks succeed', async t => {
    const {topic, inbox} = await exactlyOnce(t);
    const ids = await publish(topic, numbered(100));
    const received = [];
    for (let n = 0; n < 100; n++) {
      received.push(await inbox.next());
    }
    const results = await Promise.all(received.map(message => message.ackWithResponse()));
    assert.deepEqual(new Set(results), new Set([AckResponses.Success]));
    assert.deepEqual(received.map(message => message.id).sort(), ids.sort());
    await inbox.staysQuiet();
  });

  // @spec EOD-02 EOD-03
  test('exactly once ack fails', async t => {
    const {topic, inbox} = await exactlyOnce(t);
    await publish(topic, ['taken']);
    const first = await inbox.next();
    first.modAck(0); // the lease ends, and the message comes again under a new id
    const second = await inbox.next();
    await assert.rejects(first.ackWithResponse(), {errorCode: AckResponses.Invalid});
    assert.equal(await second.ackWithResponse(), AckResponses.Success);
  });
});
