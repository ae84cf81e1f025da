'use strict';
// Messages that were acked come again.

const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {Bench, publish, sleep} = require('../bench.js');

async function retaining(t) {
  const bench = new Bench(t);
  const topic = await bench.topic();
  const name = await bench.subscription('subscription', {retainAckedMessages: true});
  return {bench, topic, name};
}

describe('seek', {concurrency: true}, () => {
  test('seek to time', async t => {
    const {bench, topic, name} = await retaining(t);
    await publish(topic, ['old']);
    // The client sends a fraction of a second as a thousandth of what it is: take a full second.
    const between = new Date(Math.ceil(Date.now() / 1_000) * 1_000);
    await sleep(between - Date.now() + 100);
    await publish(topic, ['new']);
    const inbox = bench.listen(name);
    assert.deepEqual((await inbox.take(2)).sort(), ['new', 'old']);
    await inbox.staysQuiet(); // the acks arrive meanwhile
    await bench.pubsub.subscription('subscription').seek(between);
    assert.deepEqual(await inbox.take(1), ['new']);
    await inbox.staysQuiet();
  });

  test('seek to snapshot', async t => {
    const {bench, topic, name} = await retaining(t);
    await publish(topic, ['acked before']);
    const first = bench.listen(name);
    await first.next();
    await first.staysQuiet(); // the ack arrives meanwhile
    await first.close();
    await publish(topic, ['kept']);
    const subscription = bench.pubsub.subscription('subscription');
    const [snapshot] = await subscription.createSnapshot('snapshot');
    const inbox = bench.listen(name);
    assert.deepEqual(await inbox.take(1), ['kept']);
    await inbox.staysQuiet();
    await subscription.seek('snapshot');
    assert.deepEqual(await inbox.take(1), ['kept']);
    await inbox.staysQuiet();
    await snapshot.delete();
    assert.deepEqual((await bench.pubsub.getSnapshots())[0], []);
  });
});
