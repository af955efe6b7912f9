/**
 * The published schema of intake messages and the validator agree on every message, except for rules that JSON Schema
 * cannot express, which are named here.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { decodeIntakeMessage, RejectedMessageError } from '../src/engine/domain/intake-message.ts';
import { TEXT_FORMATS } from '../src/engine/domain/intake-schema.ts';
import { INTAKE_EXAMPLES } from '../src/rest/description/contract-examples.ts';
import { intakeSchema } from '../src/rest/description/message-schemas.ts';
import { runsOf } from './support/random-runs.ts';

const document = intakeSchema('https://vigie.example');
const accepts = new Ajv2020().compile(document);

function isUnderstood(message: unknown): boolean {
  try {
    decodeIntakeMessage(Buffer.from(JSON.stringify(message)));
    return true;
  } catch (error) {
    if (error instanceof RejectedMessageError) return false;
    throw error;
  }
}

interface Member {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Member>>;
  readonly required?: readonly string[];
  readonly items?: Member;
  readonly enum?: readonly unknown[];
  readonly maximum?: number;
  readonly minimum?: number;
}

const instants = fc.oneof(
  fc.constantFrom(
    ...['2026-03-10T08:15:00+01:00', '2024-02-29T00:00:00Z', '2026-02-29T08:15:00Z', '2026-03-10T08:15Z', '2026-03-10'],
    ...['2026-03-10t08:15:00z', '2026-03-10T08:15:60Z', '2026-03-10T08:15:00.123456789-12:00', '2026-3-10T08:15:00Z'],
  ),
  fc
    .date({ min: new Date('0002-01-01'), max: new Date('9998-12-31'), noInvalidDate: true })
    .map((at) => at.toISOString()),
);
const uuids = fc.oneof(
  fc.uuid(),
  fc.uuid().map((uuid) => uuid.toUpperCase()),
  fc.constant('no-uuid'),
);
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', 'a\0b', '🌊'.repeat(60_000), '🌊'.repeat(100_001), 'x'.repeat(100_000), 'x'.repeat(100_001)),
);
const numbers = fc.oneof(
  fc.constantFrom(0, -0, 1e-4, 9.9e-5, 1e11, 1.1e11, -1, 2 ** 53, 5e-324, 0.5, 90, 90.1, 180, 180.1, 100_000, 100_001),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
);
const anything = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  numbers,
  texts,
  instants,
  uuids,
  fc.jsonValue({ maxDepth: 1 }),
);

/** Mostly values that the schema permits, sometimes any value. */
function valueOf(schema: Member): fc.Arbitrary<unknown> {
  const { properties, items } = schema;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (properties !== undefined) {
    const members = Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, valueOf(member)]));
    const requiredKeys = [...(schema.required ?? [])];
    const record = fc.record<Record<string, unknown>>({ ...members, unheard: anything }, { requiredKeys });
    return fc.oneof({ weight: 20, arbitrary: record }, { weight: 1, arbitrary: anything });
  }
  if (items !== undefined) {
    const long = fc.constantFrom(1_000, 1_001).map((length) => Array(length).fill('x'));
    return fc.oneof({ weight: 10, arbitrary: fc.array(valueOf(items), { maxLength: 3 }) }, long, anything);
  }
  if (schema.enum !== undefined) return fc.oneof({ weight: 10, arbitrary: fc.constantFrom(...schema.enum) }, anything);
  const types = [schema.type].flat();
  const fitting: fc.Arbitrary<unknown>[] = [];
  if (schema.pattern === TEXT_FORMATS.uuid?.published.pattern) fitting.push(fc.uuid());
  else if (schema.pattern === TEXT_FORMATS.instant?.published.pattern) fitting.push(instants);
  else if (types.includes('string')) fitting.push(texts);
  if (types.includes('boolean')) fitting.push(fc.boolean());
  if (types.includes('integer')) fitting.push(fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 0 }));
  if (types.includes('number')) fitting.push(fc.double({ min: 0, max: 90, noNaN: true }));
  if (types.includes('null')) fitting.push(fc.constant(null));
  return fc.oneof({ weight: 20, arbitrary: fc.oneof(...fitting) }, { weight: 1, arbitrary: anything });
}

const { Upsert, Expire } = document.$defs as Readonly<Record<string, Member>>;
const messages = fc.oneof(valueOf(Upsert as Member), valueOf(Expire as Member), fc.jsonValue());

test('the schema and the validator accept the same messages', () => {
  let accepted = 0;
  let runs = 0;
  fc.assert(
    fc.property(messages, (message) => {
      const sent = JSON.parse(JSON.stringify(message));
      runs += 1;
      const isAccepted = accepts(sent);
      accepted += Number(isAccepted);
      assert.equal(
        isAccepted,
        isUnderstood(sent),
        `${JSON.stringify(sent).slice(0, 2_000)} ${JSON.stringify(accepts.errors)}`,
      );
    }),
    { numRuns: runsOf(3_000) },
  );
  assert.ok(
    accepted > runs / 20 && accepted < (runs * 19) / 20,
    `${accepted} of ${runs} accepted: both ways are tried`,
  );
});

test('the schema and the validator accept the same values of each member', () => {
  const example = INTAKE_EXAMPLES.upsert as Readonly<Record<'property' | 'advert', object>>;
  for (const part of ['property', 'advert'] as const) {
    const members = (Upsert as Member).properties?.[part]?.properties ?? {};
    for (const [name, member] of Object.entries(members)) {
      fc.assert(
        fc.property(fc.oneof(anything, valueOf(member)), (value) => {
          const sent = JSON.parse(JSON.stringify({ ...example, [part]: { ...example[part], [name]: value } }));
          assert.equal(accepts(sent), isUnderstood(sent), `${part}.${name} ${JSON.stringify(value).slice(0, 500)}`);
        }),
        { numRuns: 60 },
      );
    }
  }
});

test('the examples are valid messages of their kind', () => {
  for (const example of document.examples as readonly unknown[]) {
    assert.ok(accepts(example), JSON.stringify(accepts.errors));
    assert.ok(isUnderstood(example));
  }
});

test('the description states the only rules that JSON Schema cannot express', () => {
  const { upsert } = INTAKE_EXAMPLES;
  const unsayable = [
    { ...upsert, advert: { ...(upsert as { advert: object }).advert, title: 'vue \ud83c' } },
    { ...upsert, crawledAt: '0001-01-01T00:00:00+01:00' },
    { ...upsert, crawledAt: '9999-12-31T23:59:59-01:00' },
    { ...upsert, crawledAt: '0000-06-01T00:00:00Z' },
  ];
  for (const message of unsayable) {
    assert.equal(accepts(JSON.parse(JSON.stringify(message))), true);
    assert.equal(isUnderstood(message), false);
  }
  for (const crawledAt of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])
    assert.equal(isUnderstood({ ...upsert, crawledAt }), true);
  assert.match(String(document.$comment), /surrogate/);
  assert.match(String(document.$comment), /years 1 to 9999/);
});

test('the regular expressions of the schema use no syntax that some languages lack', () => {
  const patterns = [...JSON.stringify(document).matchAll(/"pattern":"((?:[^"\\]|\\.)*)"/g)].map(([, source]) => source);
  assert.ok(patterns.length > 3);
  for (const source of patterns) assert.doesNotMatch(String(source), /\\\\[dwsupDWSPbB]|\(\?[=!<]/);
});
