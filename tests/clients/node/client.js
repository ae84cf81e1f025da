// A subscriber and publisher on the official Node.js client:
// `node client.js PROJECT TOPIC SUBSCRIPTION`.
//
// It publishes each line of its input and prints a line for each message it receives, until the
// input ends.
'use strict';

const readline = require('node:readline');
const {PubSub} = require('@google-cloud/pubsub');

async function main(projectId, topic, name) {
  const client = new PubSub({projectId});
  const subscription = client.subscription(name);
  subscription.on('message', message => {
    message.ack();
    console.log(`received ${message.data}`);
  });
  subscription.on('error', error => {
    throw error;
  });
  for await (const line of readline.createInterface({input: process.stdin})) {
    await client.topic(topic).publishMessage({data: Buffer.from(line)});
  }
  await subscription.close();
  await client.close();
}

main(...process.argv.slice(2));
