'use strict';
// Streams that are idle, cut, or ended.

const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {Bench, publish, sleep} = require('../bench.js');

const IDLE_MS = 40_000;

/** Break the link three times; every message published in between arrives. */
async function goesOn(t, kind, silentS) {
  const bench = new Bench(t);
  await bench.topic();
  const name = await bench.subscription();
  const link = await bench.link(kind);
  if (!link) return;
  const client = bench.clientOn(link);
  const inbox = bench.listen(name, {}, client);
  for (let n = 0; n < 4; n++) {
    await publish(client.topic('topic'), [`${n}`]);
    while (String((await inbox.next()).data) !== `${n}`); // others may come twice
    if (n < 3) {
      assert.ok((await link.breakAll(silentS)) > 0, 'nothing was open');
    }
  }
}

describe('connections', {concurrency: true}, () => {
  // @spec STR-10 STR-11 CLI-13
  test('idle stream', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const name = await bench.subscription();
    const link = await bench.link('grpc');
    if (!link) return;
    const inbox = bench.listen(name, {}, bench.clientOn(link));
    await publish(topic, ['x']);
    await inbox.next();
    const streams = await link.streams();
    await sleep(IDLE_MS);
    await publish(topic, ['x']);
    await inbox.next(1_000);
    assert.ok(streams > 0);
    assert.equal(await link.streams(), streams, 'some were given up meanwhile');
  });

  // @spec CLI-04
  test('cut connection', t => goesOn(t, 'tcp', 0.5));

  // @spec STR-13 CLI-04
  test('ended stream', t => goesOn(t, 'grpc', 0));
});
