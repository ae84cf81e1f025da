'use strict';
// Messages of one key come in order, also after a failure.

const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {Bench} = require('../bench.js');

async function ordered(t) {
  const bench = new Bench(t);
  await bench.topic();
  const name = await bench.subscription('subscription', {enableMessageOrdering: true});
  const topic = bench.pubsub.topic('topic', {messageOrdering: true});
  const send = (n, orderingKey) => topic.publishMessage({data: Buffer.from(`${n}`), orderingKey});
  return {bench, name, send};
}

describe('ordering', {concurrency: true}, () => {
  // @spec ORD-01
  test('ordered keys', async t => {
    const {bench, name, send} = await ordered(t);
    const sent = [];
    for (let n = 0; n < 100; n++) {
      sent.push(...['a', 'b', 'c'].map(key => send(n, key)));
    }
    await Promise.all(sent);
    const inbox = bench.listen(name);
    const received = {a: 0, b: 0, c: 0};
    for (let n = 0; n < sent.length; n++) {
      const message = await inbox.next();
      assert.equal(String(message.data), String(received[message.orderingKey]++));
    }
  });

  // @spec ORD-02
  test('ordered key after a failure', async t => {
    const {bench, name, send} = await ordered(t);
    const sent = Array.from({length: 10}, (_, n) => `${n}`);
    await Promise.all(sent.map(n => send(n, 'key')));
    let failures = 1;
    const inbox = bench.listen(name, {
      settle: message =>
        String(message.data) === '4' && failures-- > 0 ? message.nack() : message.ack(),
    });
    const received = [];
    do {
      received.push(...(await inbox.take(1)));
    } while (received.indexOf('4') === received.lastIndexOf('4') || received.at(-1) !== '9');
    // After the failure everything from it on comes again, in order, whatever came in between.
    assert.deepEqual(received.slice(0, received.indexOf('4')), sent.slice(0, 4));
    assert.deepEqual(received.slice(received.lastIndexOf('4')), sent.slice(4));
  });
});
