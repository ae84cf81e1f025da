'use strict';
// What the tests of this suite share: a project of each test's own, inboxes, links that break.
// PUBSUB_EMULATOR_HOST (or ENDPOINT) says where the server is; FAULTS, where the program is that
// breaks connections (tests/clients/faults.py).

const assert = require('node:assert/strict');
const {randomUUID} = require('node:crypto');
const {setTimeout: sleep} = require('node:timers/promises');
const {PubSub} = require('@google-cloud/pubsub');

process.env.PUBSUB_EMULATOR_HOST = process.env.ENDPOINT ?? process.env.PUBSUB_EMULATOR_HOST;
// The client would look for Google's machines on the network.
process.env.METADATA_SERVER_DETECTION = 'none';

const ENDPOINT = process.env.PUBSUB_EMULATOR_HOST;
const HANG_LIMIT_MS = 30_000; // longer than anything here takes
const QUIET_MS = 500; // long enough for a message to arrive that should not

const Code = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  FAILED_PRECONDITION: 9,
  UNIMPLEMENTED: 12,
};

/** A client for a project of the test's own; closed after it. */
class Bench {
  constructor(t, options = {}) {
    this.t = t;
    this.opened = [];
    t.after(() => this.close());
    this.project = `node-${randomUUID().slice(0, 13)}`;
    this.pubsub = this.client(options);
  }

  get parent() {
    return `projects/${this.project}`;
  }

  /** Close what was opened, the last first. */
  async close() {
    for (const each of this.opened.reverse()) {
      await each.close();
    }
  }

  closed(resource) {
    this.opened.push(resource);
    return resource;
  }

  client(options = {}) {
    return this.closed(new PubSub({projectId: this.project, ...options}));
  }

  /** A client whose connections go over `link`. */
  clientOn(link, options = {}) {
    return this.client({apiEndpoint: link.address, emulatorMode: true, ...options});
  }

  async topic(id = 'topic') {
    const [topic] = await this.pubsub.createTopic(id);
    return topic;
  }

  async subscription(id = 'subscription', settings = {}, topic = 'topic') {
    await this.pubsub.topic(topic).createSubscription(id, settings);
    return `${this.parent}/subscriptions/${id}`;
  }

  listen(name, options, client = this.pubsub) {
    return this.closed(new Inbox(client, name, options));
  }

  /** A new link; without the program for it the test is skipped. */
  async link(kind) {
    if (!process.env.FAULTS) {
      this.t.skip('FAULTS does not name a program that breaks connections');
      return undefined;
    }
    return this.closed(new Link(await order('POST', kind)));
  }
}

/** A running subscriber, and what it has received. */
class Inbox {
  constructor(client, name, {settle = message => message.ack(), ...options} = {}) {
    this.received = [];
    this.error = undefined;
    this.subscription = client.subscription(name, options);
    this.subscription.on('message', async message => {
      await settle(message);
      this.received.push(message);
    });
    this.subscription.on('error', error => {
      this.error = error;
    });
  }

  /** Stop; fail if the stream did. */
  async close() {
    if (this.subscription.isOpen) {
      await this.subscription.close();
    }
    assert.equal(this.error, undefined);
  }

  async next(limitMs = HANG_LIMIT_MS) {
    await until(() => this.received.length > 0, limitMs);
    return this.received.shift();
  }

  async take(count) {
    const texts = [];
    while (texts.length < count) {
      texts.push(String((await this.next()).data));
    }
    return texts;
  }

  async staysQuiet() {
    await sleep(QUIET_MS);
    assert.deepEqual(this.received.map(message => String(message.data)), []);
  }
}

/** An address of the server whose connections break on order. */
class Link {
  constructor({id, address}) {
    this.id = id;
    this.address = address;
  }

  /** Break what is open; return how much that was. */
  async breakAll(silentS = 0) {
    return (await order('POST', `${this.id}/break?silent_s=${silentS}`)).broken;
  }

  /** How much clients have sent. */
  async sentBytes() {
    return (await order('GET', this.id)).sent_bytes;
  }

  /** How many streams clients have opened. */
  async streams() {
    return (await order('GET', this.id)).streams;
  }

  close() {
    return order('DELETE', this.id);
  }
}

async function order(method, path) {
  const answer = await fetch(`http://${process.env.FAULTS}/links/${path}`, {method});
  assert.equal(answer.status, 200);
  return answer.json();
}

async function until(holds, limitMs = HANG_LIMIT_MS) {
  const limit = Date.now() + limitMs;
  while (!holds()) {
    assert.ok(Date.now() < limit, 'did not come true');
    await sleep(5);
  }
}

/** The error that the promise fails with; it must have this code. */
async function refused(code, promise) {
  const error = await promise.then(
    () => assert.fail('not refused'),
    thrown => thrown
  );
  assert.equal(error.code, code, error.message);
  assert.ok(error instanceof Error);
  return error;
}

/** Messages "00000", "00001" … */
function numbered(count) {
  return Array.from({length: count}, (_, n) => String(n).padStart(5, '0'));
}

function publish(topic, texts) {
  return Promise.all(texts.map(text => topic.publishMessage({data: Buffer.from(text)})));
}

module.exports = {Bench, Code, ENDPOINT, QUIET_MS, numbered, publish, refused, sleep, until};
