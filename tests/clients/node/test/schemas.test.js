'use strict';
// Topics whose messages must fit a schema.

const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {Encodings, Schema, SchemaTypes} = require('@google-cloud/pubsub');
const {Bench, Code, refused} = require('../bench.js');

const FIELDS = [
  {name: 'name', type: 'string'},
  {name: 'size', type: 'int'},
];
const AVRO = JSON.stringify({type: 'record', name: 'State', fields: FIELDS});
const MOTTO = {name: 'motto', type: 'string', default: ''};
const REVISED = JSON.stringify({type: 'record', name: 'State', fields: [...FIELDS, MOTTO]});
const PROTOBUF = 'syntax = "proto3"; message State { string name = 1; int32 size = 2; }';

/** The schema, or nothing where the test is skipped. */
async function create(t, bench, type, definition) {
  try {
    const schema = await bench.pubsub.createSchema('state', type, definition);
    return await schema.get();
  } catch (error) {
    if (error.code !== Code.UNIMPLEMENTED) throw error;
    t.skip(`the server has no such schemas: ${error.message}`);
    return undefined;
  }
}

async function checkTopic(bench, schema, encoding, good, bad) {
  const schemaSettings = {schema: schema.name, encoding};
  const [topic] = await bench.pubsub.createTopic({name: 'topic', schemaSettings});
  const name = await bench.subscription();
  await refused(Code.INVALID_ARGUMENT, topic.publishMessage({data: bad}));
  await topic.publishMessage({data: good});
  const message = await bench.listen(name).next();
  assert.deepEqual(message.data, good);
  assert.deepEqual(Schema.metadataFromMessage(message.attributes), {
    name: schema.name,
    revision: schema.revisionId,
    encoding,
  });
}

describe('schemas', {concurrency: true}, () => {
  // @spec SCH-20 SCH-40
  test('avro schema', async t => {
    const bench = new Bench(t);
    const schema = await create(t, bench, SchemaTypes.Avro, AVRO);
    if (!schema) return;
    assert.equal(schema.definition, AVRO);
    const broken = {type: SchemaTypes.Avro, definition: '{"type": "nonsense"}'};
    await refused(Code.INVALID_ARGUMENT, bench.pubsub.validateSchema(broken));
    await checkTopic(
      bench,
      schema,
      Encodings.Json,
      Buffer.from('{"name": "Ohio", "size": 7}'),
      Buffer.from('{"name": "Ohio", "size": "seven"}')
    );
    const client = await bench.pubsub.getSchemaClient();
    const revision = {name: schema.name, type: SchemaTypes.Avro, definition: REVISED};
    const [committed] = await client.commitSchema({name: schema.name, schema: revision});
    assert.notEqual(committed.revisionId, schema.revisionId);
    const [revisions] = await client.listSchemaRevisions({name: schema.name});
    assert.equal(revisions.length, 2);
    await bench.pubsub.schema('state').delete();
    await refused(Code.NOT_FOUND, bench.pubsub.schema('state').get());
  });

  // @spec PRO-02 SCH-40
  test('protobuf schema', async t => {
    const bench = new Bench(t);
    const schema = await create(t, bench, SchemaTypes.ProtocolBuffer, PROTOBUF);
    if (!schema) return;
    const text = Buffer.from('{"name": "Ohio", "size": 7}');
    await bench.pubsub.schema('state').validateMessage(text, Encodings.Json);
    const good = Buffer.from('\x0a\x04Ohio\x10\x07');
    await checkTopic(bench, schema, Encodings.Binary, good, Buffer.from('\x0a\x7fOhio'));
  });
});
