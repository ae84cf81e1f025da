'use strict';
// One request through Nest's microservices over Pub/Sub: sent, handled, answered.

require('reflect-metadata');
const assert = require('node:assert/strict');
const {randomUUID} = require('node:crypto');
const {PubSub} = require('@google-cloud/pubsub');
const {Controller, Module} = require('@nestjs/common');
const {NestFactory} = require('@nestjs/core');
const {MessagePattern} = require('@nestjs/microservices');
const {GCPubSubClient, GCPubSubServer} = require('nestjs-google-pubsub-microservice');
const {lastValueFrom} = require('rxjs');

// The client would look for Google's machines on the network.
process.env.METADATA_SERVER_DETECTION = 'none';

class Greeter {
  greet(name) {
    return `hello ${name}`;
  }
}
// Decorators are TypeScript's; in JavaScript they are called.
Controller()(Greeter);
const method = Object.getOwnPropertyDescriptor(Greeter.prototype, 'greet');
MessagePattern('greet')(Greeter.prototype, 'greet', method);

class Application {}
Module({controllers: [Greeter]})(Application);

async function main() {
  const client = {projectId: `nest-${randomUUID().slice(0, 13)}`};
  const pubsub = new PubSub(client);
  for (const id of ['requests', 'answers']) {
    const [topic] = await pubsub.createTopic(id);
    await topic.createSubscription(id);
  }
  const strategy = new GCPubSubServer({client, topic: 'requests', subscription: 'requests'});
  const service = await NestFactory.createMicroservice(Application, {strategy, logger: ['error']});
  await service.listen();
  const caller = new GCPubSubClient({
    client,
    topic: 'requests',
    replyTopic: 'answers',
    replySubscription: 'answers',
  });
  const answer = await lastValueFrom(caller.send('greet', 'world'));
  assert.equal(answer, 'hello world');
  console.log('answered', answer);
  await caller.close();
  await service.close();
  await pubsub.close();
}

main();
