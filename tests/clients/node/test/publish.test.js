'use strict';
// The batching publisher.

const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {Bench, Code, numbered, publish, refused} = require('../bench.js');

const TEN_THOUSAND = 10_000;
const GZIP = 2;

describe('publish', {concurrency: true}, () => {
  // @spec CLI-13
  test('ten thousand messages in batches', async t => {
    const bench = new Bench(t);
    await bench.topic();
    const name = await bench.subscription();
    const batching = {maxMessages: 1_000, maxMilliseconds: 100};
    const topic = bench.pubsub.topic('topic', {batching});
    const sent = numbered(TEN_THOUSAND).map(number =>
      topic.publishMessage({data: Buffer.from(number), attributes: {number}})
    );
    const ids = new Set(await Promise.all(sent));
    assert.equal(ids.size, TEN_THOUSAND);
    const inbox = bench.listen(name);
    for (let n = 0; n < TEN_THOUSAND; n++) {
      const message = await inbox.next();
      assert.equal(String(message.data), message.attributes.number);
      assert.ok(ids.delete(message.id));
    }
    await inbox.staysQuiet();
  });

  test('compressed publish', async t => {
    const bench = new Bench(t);
    await bench.topic();
    const name = await bench.subscription();
    const link = await bench.link('tcp');
    if (!link) return;
    const client = bench.clientOn(link, {'grpc.default_compression_algorithm': GZIP});
    const text = 'compressible '.repeat(10_000);
    await publish(client.topic('topic'), [text]);
    const sent = await link.sentBytes();
    assert.ok(0 < sent && sent < text.length / 10, `${sent} bytes were sent`);
    assert.deepEqual(await bench.listen(name).take(1), [text]);
  });

  // @spec ORD-01
  test('failed key resumes', async t => {
    const bench = new Bench(t);
    const topic = bench.pubsub.topic('topic', {messageOrdering: true});
    const send = text => topic.publishMessage({data: Buffer.from(text), orderingKey: 'key'});
    // There is no topic yet. What waits when a key fails, fails with it; later this client does
    // not hold the key back, as the others do until they are told to resume.
    const failures = ['lost', 'lost too'].map(text => refused(Code.NOT_FOUND, send(text)));
    await Promise.all(failures);
    await bench.topic();
    const name = await bench.subscription('subscription', {enableMessageOrdering: true});
    topic.resumePublishing('key');
    const sent = numbered(20);
    await Promise.all(sent.map(send));
    assert.deepEqual(await bench.listen(name).take(20), sent);
  });

  test('five megabyte message', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const name = await bench.subscription();
    const text = '0123456789'.repeat(500_000);
    await publish(topic, [text]);
    assert.ok((await bench.listen(name).take(1))[0] === text);
  });
});
