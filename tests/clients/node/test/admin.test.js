'use strict';
// The life of topics and subscriptions, and errors as the client's own.

const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {Bench, Code, refused} = require('../bench.js');

const texts = resources => resources.map(each => each.name).sort();

describe('admin', {concurrency: true}, () => {
  test('topic life', async t => {
    const {pubsub, parent} = new Bench(t);
    const name = `${parent}/topics/topic`;
    const [topic, created] = await pubsub.createTopic({name, labels: {team: 'red'}});
    assert.equal(created.name, name);
    assert.deepEqual(created.labels, {team: 'red'});
    await topic.setMetadata({labels: {team: 'blue'}});
    const [got] = await topic.getMetadata();
    assert.deepEqual(got.labels, {team: 'blue'});
    await topic.delete();
    await refused(Code.NOT_FOUND, topic.getMetadata());
    assert.deepEqual(await topic.exists(), [false]);
  });

  test('subscription life', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const settings = {ackDeadlineSeconds: 30, labels: {a: 'b'}};
    const [subscription] = await topic.createSubscription('subscription', settings);
    const [listed] = await topic.getSubscriptions();
    assert.deepEqual(texts(listed), [subscription.name]);
    await subscription.setMetadata({ackDeadlineSeconds: 60});
    const [got] = await subscription.getMetadata();
    assert.equal(got.ackDeadlineSeconds, 60);
    assert.deepEqual(got.labels, {a: 'b'});
    await topic.delete();
    assert.equal((await subscription.getMetadata())[0].topic, '_deleted-topic_');
    await subscription.delete();
    await refused(Code.NOT_FOUND, subscription.getMetadata());
  });

  test('lists have pages', async t => {
    const bench = new Bench(t);
    const wanted = [];
    for (let n = 0; n < 5; n++) {
      wanted.push((await bench.topic(`topic-${n}`)).name);
      await bench.subscription(`subscription-${n}`, {}, `topic-${n}`);
    }
    const page = {pageSize: 3, autoPaginate: false};
    const [first, next] = await bench.pubsub.getTopics(page);
    const [second, last] = await bench.pubsub.getTopics(next);
    assert.deepEqual([first.length, second.length, last], [3, 2, null]);
    assert.deepEqual(texts([...first, ...second]), wanted);
    const [subscriptions] = await bench.pubsub.getSubscriptions();
    assert.equal(subscriptions.length, 5);
  });

  test("errors are the client's own", async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const absent = bench.pubsub.topic('absent');
    await refused(Code.ALREADY_EXISTS, topic.create());
    await refused(Code.NOT_FOUND, absent.delete());
    await refused(Code.NOT_FOUND, absent.publishMessage({data: Buffer.from('x')}));
    await refused(Code.NOT_FOUND, absent.createSubscription('subscription'));
    await refused(Code.INVALID_ARGUMENT, bench.topic('goog-reserved'));
    const settings = {ackDeadlineSeconds: 5};
    await refused(Code.INVALID_ARGUMENT, topic.createSubscription('subscription', settings));
  });

  test('iam policies', async t => {
    const topic = await new Bench(t).topic();
    const [policy] = await topic.iam.getPolicy();
    const binding = {role: 'roles/pubsub.viewer', members: ['user:me@example.com']};
    await topic.iam.setPolicy({...policy, bindings: [binding]});
    const [got] = await topic.iam.getPolicy();
    assert.deepEqual(
      got.bindings.map(({role, members}) => ({role, members})),
      [binding]
    );
    const asked = ['pubsub.topics.get', 'pubsub.topics.publish'];
    const [granted] = await topic.iam.testPermissions(asked);
    assert.deepEqual(granted, {'pubsub.topics.get': true, 'pubsub.topics.publish': true});
  });

  // @spec PUL-04
  test('detach', async t => {
    const bench = new Bench(t);
    const topic = await bench.topic();
    const [subscription] = await topic.createSubscription('subscription');
    await topic.publishMessage({data: Buffer.from('lost')});
    await bench.pubsub.detachSubscription('subscription');
    assert.deepEqual(await subscription.detached(), [true]);
    assert.deepEqual((await topic.getSubscriptions())[0], []);
    const error = await new Promise(resolve => {
      subscription.on('error', resolve);
      subscription.on('message', () => {});
    });
    assert.equal(error.code, Code.FAILED_PRECONDITION);
    await subscription.close();
  });
});
