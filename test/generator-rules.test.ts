/**
 * For each problem of a client generator there is a rule about the documents, with the generator's result or message.
 * The generators themselves run in test/long/generated-clients.test.ts.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { EVENT_KINDS } from '../src/engine/domain/codes.ts';
import { loadReference } from '../src/engine/reference/communes.ts';
import { contractExamples } from '../src/rest/description/contract-examples.ts';
import { webhookSchema } from '../src/rest/description/message-schemas.ts';
import { openApiDocument } from '../src/rest/description/openapi.ts';
import { assertNone } from './support/lists.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- tests look everywhere into the documents
type Document = any;

const examples = contractExamples(await loadReference());
const openApi: Document = JSON.parse(JSON.stringify(openApiDocument('0.0.0', examples)));
const webhook: Document = webhookSchema('');

/** Request bodies, which stay closed, because an unknown filter must not be dropped silently. */
const SENT = new Set([
  'SearchCreation',
  'SearchChange',
  'SearchPatch',
  'SearchPreview',
  'WebhookSecretCreation',
  'RecoveryCreation',
  'EndpointChange',
  'SearchVisit',
  'MarkChange',
]);
/** Members whose value is not itself a schema. */
const OPAQUE = new Set(['example', 'examples', 'default', 'enum', 'properties', 'patternProperties']);

interface Found {
  readonly path: string;
  readonly schema: Document;
}

/** Every object in a position where a schema may be, including the schemas of members. */
function schemasOf(root: Document): Found[] {
  const found: Found[] = [];
  const look = (value: Document, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) found.push({ path, schema: value });
    for (const [name, member] of Object.entries<Document>(value)) {
      if (!OPAQUE.has(name)) look(member, `${path}/${name}`);
      else if (name === 'properties') {
        for (const [key, schema] of Object.entries<Document>(member)) look(schema, `${path}/properties/${key}`);
      }
    }
  };
  look(root, '');
  return found;
}

const isSent = ({ path }: Found): boolean => SENT.has(path.split('/')[3] ?? '');
const everySchema = schemasOf(openApi);
const answered = everySchema.filter((found) => !isSent(found));
const alerted = schemasOf(webhook.$defs);

function faultsOf(found: readonly Found[], isFault: (schema: Document) => boolean): string[] {
  assert.ok(found.length > 100, 'the document has schemas');
  return found.filter(({ schema }) => isFault(schema)).map(({ path }) => path);
}

const alternativesOf = (schema: Document): Document[] =>
  (schema.anyOf ?? schema.oneOf ?? []).filter(({ type }: Document) => type !== 'null');

describe('the OpenAPI document', () => {
  it('declares every answer open (Go and Java: unknown field "@context", after a 201)', () => {
    const isClosed = (schema: Document): boolean =>
      schema.properties !== undefined ? schema.additionalProperties !== true : schema.additionalProperties === false;
    assert.deepEqual(faultsOf(answered, isClosed), []);
    assert.deepEqual(faultsOf(alerted, isClosed), []);
  });

  it('has webhooks whose schemas a strict validator compiles without options and warnings', (t) => {
    const warn = t.mock.method(console, 'warn');
    const accepts = new Ajv2020().compile(webhook);
    assert.equal(warn.mock.callCount(), 0);
    for (const kind of EVENT_KINDS) {
      const alert = examples.alert(kind, 'event');
      assert.ok(accepts(alert), JSON.stringify(accepts.errors));
      assert.ok(!accepts({ ...alert, event: 'ad.update.unheard' }) && !accepts({ event: kind }));
    }
  });

  it('describes both members whose names differ only by an @, one of them by a pattern (Go: Id redeclared)', () => {
    const { City, Location, Problem, Search, SearchCreation } = openApi.components.schemas;
    for (const [schema, shown, hidden] of [
      [City, '@id', 'id'],
      [Location, 'type', '@type'],
      [Problem, 'type', '@type'],
      [Search, 'context', '@context'],
      [SearchCreation, 'id', '@id'],
    ] as const) {
      assert.ok(shown in schema.properties && `^${hidden}$` in schema.patternProperties, hidden);
      assert.ok(!(hidden in schema.properties), hidden);
    }
  });

  it('declares requests closed', () => {
    for (const name of SENT) assert.equal(openApi.components.schemas[name].additionalProperties, false, name);
  });

  it('allows a merge patch, but not PUT, to remove with null and to state a part of each object member', () => {
    const patch = {
      eventThresholds: { price: { percent: 5, amount: null }, surface: null },
      notificationConsent: { at: null },
    };
    const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(openApi, 'openapi');
    const takes = (name: string) => ajv.validate({ $ref: `openapi#/components/schemas/${name}` }, patch);
    assert.deepEqual([takes('SearchPatch'), takes('SearchChange')], [true, false]);
  });

  it('has the same schema for both media types of an answer', () => {
    const answers = Object.values<Document>(openApi.paths).flatMap((methods) =>
      Object.values<Document>(methods).flatMap(({ responses }) => Object.values<Document>(responses)),
    );
    const contents = answers.flatMap(({ content }) => content ?? []);
    assert.ok(contents.length > 30);
    for (const { 'application/json': json, 'application/ld+json': linked, ...others } of contents)
      assert.deepEqual([linked.schema, others], [json.schema, {}]);
  });

  it('has no constant whose name is a type of Go clients (oapi-codegen: Client redeclared in this block)', () => {
    const declared = /^(client|server|request|response|error|option)$/i;
    const isNamed = ({ enum: values = [], 'x-enum-varnames': names = values }: Document): boolean =>
      names.length !== values.length || names.some((name: unknown) => declared.test(String(name)));
    assertNone(faultsOf(everySchema, isNamed));
    assert.ok(everySchema.some(({ schema }) => schema['x-enum-varnames']?.includes('ClientValue')));
  });

  it('has no parameter of the type date-time (Rust, Ruby, PHP: text that the service rejects)', () => {
    const parameters = everySchema.filter(({ schema }) => schema.in === 'query');
    assert.ok(parameters.length > 50);
    assertNone(parameters.filter(({ schema: { schema } }) => schema.format === 'date-time').map(({ path }) => path));
  });

  it('has one type per member (Java: incompatible types: List<Integer> and Integer)', () => {
    assertNone(faultsOf(everySchema, (schema) => alternativesOf(schema).length > 1));
    assertNone(faultsOf(everySchema, ({ type }) => Array.isArray(type)));
  });

  it('has no keyword that the weakest generator lacks, and no list without an item type', () => {
    const isUnknown = (schema: Document): boolean =>
      ['prefixItems', 'const', 'propertyNames', 'if', 'exclusiveMinimum', 'exclusiveMaximum'].some(
        (word) => word in schema,
      ) ||
      (schema.type === 'array' && typeof schema.items !== 'object');
    assert.deepEqual(faultsOf(everySchema, isUnknown), []);
    const namesTwice = ({ properties = {} }: Document): boolean =>
      Object.keys(properties).some((name) => name.startsWith('@') && name.slice(1) in properties);
    assert.deepEqual(faultsOf(everySchema, namesTwice), []);
  });

  it('states the width of every number (a 32-bit float turns 25500001 into 25500000)', () => {
    const isWide = ({ type, format }: Document): boolean =>
      type === 'number' ? format === 'double' : type !== 'integer' || format === 'int64';
    assertNone(faultsOf(everySchema, (schema) => !isWide(schema)));
  });

  it('has no field with both a pattern and a format (Python: validators of two kinds on one field fail on import)', () => {
    const hasBoth = ({ format, pattern }: Document): boolean => typeof format === 'string' && pattern !== undefined;
    assert.deepEqual(faultsOf(everySchema, hasBoth), []);
  });

  it('has no pattern that begins with a slash (Python: the pattern must follow the Perl "/pattern/modifiers" convention)', () => {
    assertNone(faultsOf(everySchema, ({ pattern }) => typeof pattern === 'string' && pattern.startsWith('/')));
  });

  it('refers to AdEvent by name everywhere (openapi-generator throws an exception on an inline one)', () => {
    const inPlace = ({ schema }: Found): boolean => {
      const member = schema.properties?.adEvent;
      return member !== undefined && (member.anyOf?.[0] ?? member).$ref !== '#/components/schemas/AdEvent';
    };
    const bearers = everySchema.filter(({ schema }) => schema.properties?.adEvent !== undefined);
    assert.ok(bearers.length > 4, 'webhooks have it, and the tester');
    assertNone(bearers.filter(inPlace).map(({ path }) => path));
  });

  it('leaves free-form JSON untyped (Go: unsupported type, for objects with any members)', () => {
    const { schemas } = openApi.components;
    const free = [
      ...['expected', 'actual'].map((name) => schemas.ExplainedCriterion.properties[name]),
      schemas.PointOfInterest.properties.attributes,
      ...['context', 'propertyTypes', 'publisherTypes'].map((name) => schemas.Search.properties[name]),
      schemas.FeedItem.properties.context,
      schemas.FeedItem.properties.body,
    ];
    for (const { description: _, ...schema } of free) assert.deepEqual(schema, {});
  });
});
