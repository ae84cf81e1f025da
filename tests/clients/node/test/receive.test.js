'use strict';
// Streaming pull: flow control, sharing, leases, redelivery.

const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {Duration} = require('@google-cloud/pubsub');
const {Bench, QUIET_MS, numbered, publish, sleep, until} = require('../bench.js');

const SLOW_MS = 13_000;
const SECOND = {seconds: 1};

/** Expect `total` messages, while between `least` and `most` of them are out unsettled. */
async function flows(bench, name, total, least, most, flowControl) {
  // The limit holds for each of the client's streams, five by default.
  const streamingOptions = {maxStreams: 1};
  const inbox = bench.listen(name, {settle: () => {}, flowControl, streamingOptions});
  await until(() => inbox.received.length >= least);
  await sleep(QUIET_MS);
  assert.ok(inbox.received.length <= most, `${inbox.received.length} are out`);
  const seen = new Set();
  for (let n = 0; n < total; n++) {
    const message = await inbox.next();
    assert.ok(inbox.received.length < most, `${inbox.received.length} more are out`);
    seen.add(String(message.data));
    message.ack();
  }
  assert.equal(seen.size, total);
}

describe('receive', {concurrency: true}, () => {
  // @spec STR-07
  test('flow control by count', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const name = await bench.subscription();
    await publish(topic, numbered(20));
    await flows(bench, name, 20, 3, 3, {maxMessages: 3});
  });

  // @spec STR-07
  test('flow control by bytes', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const name = await bench.subscription();
    await publish(topic, Array.from({length: 10}, (_, n) => String(n).repeat(100_000)));
    // Two fit; whether a third may overrun the limit is the server's and the client's choice.
    await flows(bench, name, 10, 2, 3, {maxBytes: 250_000});
  });

  // @spec DLV-09
  test('subscribers share', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const name = await bench.subscription();
    const boxes = [bench.listen(name), bench.listen(name, {}, bench.client())];
    await sleep(2 * QUIET_MS); // the streams of both are open
    await publish(topic, numbered(500));
    await until(() => boxes[0].received.length + boxes[1].received.length === 500);
    const shares = boxes.map(box => box.received.map(message => String(message.data)));
    assert.ok(shares[0].length > 0 && shares[1].length > 0, `${shares.map(s => s.length)}`);
    assert.deepEqual(shares.flat().sort(), numbered(500));
  });

  // @spec DLV-07
  test('fan out', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const names = await Promise.all(['one', 'two', 'three'].map(id => bench.subscription(id)));
    await publish(topic, numbered(100));
    for (const name of names) {
      const inbox = bench.listen(name);
      assert.deepEqual((await inbox.take(100)).sort(), numbered(100));
      await inbox.staysQuiet();
    }
  });

  // @spec DLV-03 DLQ-01
  test('nack and attempts', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const dead = await bench.topic('dead');
    const deadLetterPolicy = {deadLetterTopic: dead.name, maxDeliveryAttempts: 10};
    const name = await bench.subscription('subscription', {deadLetterPolicy});
    const inbox = bench.listen(name, {
      settle: message => (message.deliveryAttempt === 3 ? message.ack() : message.nack()),
    });
    await publish(topic, numbered(2));
    const seen = new Set();
    for (let n = 0; n < 6; n++) {
      const message = await inbox.next();
      seen.add(`${message.data}/${message.deliveryAttempt}`);
    }
    assert.equal(seen.size, 6, [...seen].join());
    await inbox.staysQuiet();
  });

  // @spec DLV-21 CLI-14
  test('slow handler keeps its lease', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const name = await bench.subscription('subscription', {ackDeadlineSeconds: 10});
    await publish(topic, numbered(2));
    const inbox = bench.listen(name, {
      maxAckDeadline: Duration.from({seconds: 10}),
      settle: async message => {
        await sleep(SLOW_MS);
        message.ack();
      },
    });
    assert.deepEqual((await inbox.take(2)).sort(), numbered(2));
    await inbox.staysQuiet();
  });

  // @spec RTY-02
  test('retry backoff', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const retryPolicy = {minimumBackoff: SECOND, maximumBackoff: {seconds: 10}};
    const name = await bench.subscription('subscription', {retryPolicy});
    const times = [];
    const inbox = bench.listen(name, {
      settle: message => (times.push(performance.now()) === 3 ? message.ack() : message.nack()),
    });
    await publish(topic, numbered(1));
    await inbox.take(3);
    assert.ok(times[1] - times[0] >= 1_000, `${times}`);
    assert.ok(times[2] - times[1] >= 2_000, `${times}`); // it doubles
  });

  // @spec DLQ-02 DLQ-03
  test('dead letter', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const dead = await bench.topic('dead');
    const grave = await bench.subscription('dead', {}, 'dead');
    const deadLetterPolicy = {deadLetterTopic: dead.name, maxDeliveryAttempts: 5};
    const name = await bench.subscription('subscription', {deadLetterPolicy});
    await topic.publishMessage({data: Buffer.from('poison'), attributes: {color: 'green'}});
    const inbox = bench.listen(name, {settle: message => message.nack()});
    const buried = await bench.listen(grave).next();
    assert.deepEqual(await inbox.take(5), Array(5).fill('poison'));
    await inbox.staysQuiet();
    assert.equal(String(buried.data), 'poison');
    assert.equal(buried.attributes.color, 'green');
    const added = 'CloudPubSubDeadLetterSource';
    assert.equal(buried.attributes[`${added}DeliveryCount`], '5');
    assert.equal(buried.attributes[`${added}Subscription`], 'subscription');
    assert.equal(buried.attributes[`${added}SubscriptionProject`], bench.project);
  });

  // @spec DLV-40
  test('filter', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const filter = 'attributes.color = "red" AND NOT hasPrefix(attributes.size, "x")';
    const inbox = bench.listen(await bench.subscription('subscription', {filter}));
    const send = (text, attributes) => topic.publishMessage({data: Buffer.from(text), attributes});
    await send('green', {color: 'green', size: 's'});
    await send('large', {color: 'red', size: 'xl'});
    await send('plain', {});
    await send('red', {color: 'red', size: 's'});
    assert.deepEqual(await inbox.take(1), ['red']);
    await inbox.staysQuiet();
  });

  // @spec CLI-13
  test('start and stop', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const name = await bench.subscription();
    for (const text of numbered(20)) {
      const inbox = bench.listen(name);
      await publish(topic, [text]);
      assert.deepEqual(await inbox.take(1), [text]);
      await inbox.close();
    }
    await bench.listen(name).staysQuiet();
  });
});
