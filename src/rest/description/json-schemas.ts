/** Converts zod schemas to JSON Schema 2020-12, linked by `$ref`, and rewrites the result for client generators. */

import { z } from 'zod';
import { VIOLATIONS_MAX } from '../problem.ts';
import { SearchChange, SearchCreation } from '../search-schema.ts';
import { ALERTS } from './alert-schemas.ts';
import { FEATURE_BODIES, PARTS, RESOURCES } from './resource-schemas.ts';

const members = {
  '@id': z.string(),
  'hydra:title': z.string(),
  'hydra:description': z.string(),
  title: z.string(),
  detail: z.string(),
  status: z.int(),
  type: z.string(),
};

/** Error bodies as schemas (decisions, section 7), for OpenAPI and the tests. */
const problemSchema = z.looseObject({
  '@context': z.literal('/contexts/Error'),
  '@type': z.literal('hydra:Error'),
  ...members,
});

const violationListSchema = z.strictObject({
  '@context': z.literal('/contexts/ConstraintViolationList'),
  '@type': z.tuple([z.literal('ConstraintViolationList'), z.literal('hydra:Error')]),
  ...members,
  violations: z
    .array(
      z.strictObject({
        propertyPath: z.string().meta({ description: 'For example includedCities[2]; empty for the whole body.' }),
        message: z.string(),
        code: z.string().meta({ description: 'A stable code for programs.' }),
      }),
    )
    .meta({ description: `At most the first ${VIOLATIONS_MAX} violations.` }),
  violationCount: z.int().meta({ description: 'Total number of violations.' }),
});

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly readOnly?: boolean;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly prefixItems?: readonly JsonSchema[];
  /** The class of the resource that an IRI identifies. */
  readonly 'x-class'?: string;
}

export const SCHEMAS_PATH = '#/components/schemas/';

const BODIES = Object.fromEntries(Object.entries(FEATURE_BODIES).map(([name, { schema }]) => [name, schema]));

const INPUTS = convert({ SearchCreation, SearchChange, ...BODIES }, 'input');

/** The schemas of every answer and every body. */
export const JSON_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...convert(
    { ...RESOURCES, ...PARTS, ...ALERTS, Problem: problemSchema, ConstraintViolationList: violationListSchema },
    'output',
  ),
  ...INPUTS,
  SearchPatch: patchOf(INPUTS.SearchChange as JsonSchema),
};

/** A merge patch (RFC 7396) may contain any part of an object. A null removes a member at every depth. */
function patchOf(search: JsonSchema): JsonSchema {
  const properties = Object.entries(search.properties ?? {}).map(([name, member]) => [name, partOf(member)]);
  return { ...search, properties: Object.fromEntries(properties) };
}

function partOf({ anyOf, properties, required: _required, ...schema }: JsonSchema): JsonSchema {
  if (anyOf !== undefined) return { ...schema, anyOf: anyOf.map(partOf) };
  if (properties === undefined) return schema;
  const parts = Object.entries(properties).map(([name, member]) => {
    const { description, ...part } = partOf(member);
    return [name, { description, anyOf: [part, { type: 'null' }] }];
  });
  return { ...schema, properties: Object.fromEntries(parts) };
}

function convert(schemas: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  // zod's own registry has the descriptions of members; our registry has the names of schemas.
  const converted = z.toJSONSchema(registry, {
    io,
    unrepresentable: 'any',
    uri: (id) => `${SCHEMAS_PATH}${id}`,
    override: ({ zodSchema, jsonSchema }) => {
      Object.assign(jsonSchema, z.globalRegistry.get(zodSchema));
      // Answers are open, so that a new member does not break clients. This must be explicit, because generators treat
      // an object without `additionalProperties` as closed.
      if (io === 'output' && jsonSchema.properties !== undefined) jsonSchema.additionalProperties = true;
      // `format` implies the pattern, and these limits are those of every safe integer in JavaScript.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return Object.fromEntries(Object.entries(converted.schemas).map(([id, schema]) => [id, withoutIdentity(schema)]));
}

function withoutIdentity(schema: object): JsonSchema {
  const { $schema: _schema, $id: _id, id: _name, ...rest } = schema as Record<string, unknown>;
  return rest;
}

/** The name of the referenced schema, or null. */
export function nameOfReference(schema: JsonSchema): string | null {
  return schema.$ref?.startsWith(SCHEMAS_PATH) ? schema.$ref.slice(SCHEMAS_PATH.length) : null;
}

/** The schema without the alternative `null`. */
export function withoutNull(schema: JsonSchema): JsonSchema {
  const { anyOf = [], ...rest } = schema;
  const variants = anyOf.filter((variant) => variant.type !== 'null');
  const [only] = variants;
  return variants.length === 1 && only !== undefined ? { ...rest, ...only } : schema;
}

export function referenceTo(name: string): JsonSchema {
  return { $ref: `${SCHEMAS_PATH}${name}` };
}

type Schema = Readonly<Record<string, unknown>>;

/** Keywords by type. All others concern the value as a whole, and stay outside `anyOf`. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'format'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
  object: ['properties', 'required', 'additionalProperties', 'propertyNames'],
  boolean: [],
  null: [],
};
const TYPED = new Set(Object.values(KEYWORDS).flat());
/** Keywords whose values are not schemas. */
const OPAQUE: ReadonlySet<string> = new Set([
  ...['example', 'examples', 'default', 'enum', 'const', 'required', 'x-enum-varnames'],
]);

/** Without a width some generators use 32 bits, and such a float turns 25,500,001 into 25,500,000. */
const WIDTHS = { number: 'double', integer: 'int64' } as const;

/**
 * Rewrites every schema of the document for client generators with little support for 2020-12. The result has one type
 * per schema, items for each array, constants as enumerations of one, and a width per number. No two members have names
 * that differ only by an `@`. The meaning is the same, except that tuples lose their order.
 */
export function plain<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(plain) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(simplified(value as Schema));
  return Object.fromEntries(
    members.map(([name, member]) => [name, OPAQUE.has(name) ? member : plain(member)]),
  ) as Value;
}

function simplified(schema: Schema): Schema {
  const { type } = schema;
  if (Array.isArray(type)) return alternatives(schema, type as readonly string[]);
  if (type === 'array') return listed(schema);
  const { const: constant, ...rest } = schema;
  if (typeof constant === 'string') return { ...rest, type: 'string', enum: [constant] };
  if (Array.isArray(schema.anyOf)) return grouped(schema, schema.anyOf as readonly Schema[]);
  if (type === 'integer' && Array.isArray(schema.enum)) return sized(range(schema, schema.enum as readonly number[]));
  if (type === 'object') return distinct(schema);
  if (Array.isArray(schema.enum)) return named(schema, schema.enum as readonly unknown[]);
  return sized(schema);
}

/** Types that oapi-codegen declares itself. It names a constant after its value, and a clash does not compile. */
const DECLARED = /^(client|server|request|response|error|option)$/i;

function named(schema: Schema, values: readonly unknown[]): Schema {
  if (!values.some((value) => DECLARED.test(String(value)))) return schema;
  const names = values.map((value) => `${String(value).replace(/^./, (first) => first.toUpperCase())}Value`);
  return { ...schema, 'x-enum-varnames': names };
}

function sized(schema: Schema): Schema {
  const width = WIDTHS[schema.type as keyof typeof WIDTHS];
  return width === undefined ? schema : { ...schema, format: schema.format ?? width };
}

function alternatives(schema: Schema, types: readonly string[]): Schema {
  const about = Object.fromEntries(Object.entries(schema).filter(([name]) => name !== 'type' && !TYPED.has(name)));
  const anyOf = types.map((type) => {
    const own = Object.entries(schema).filter(([name]) => KEYWORDS[type]?.includes(name));
    return { type, ...Object.fromEntries(own) };
  });
  return { ...about, anyOf };
}

function listed({ prefixItems, items, ...rest }: Schema): Schema {
  if (Array.isArray(prefixItems)) {
    const length = prefixItems.length;
    return { ...rest, items: commonOf(prefixItems as readonly Schema[]), minItems: length, maxItems: length };
  }
  // A list that is always empty.
  if (typeof items === 'object' && items !== null && 'not' in items) return { ...rest, items: { type: 'string' } };
  return { ...rest, items: items ?? {} };
}

function commonOf(items: readonly Schema[]): Schema {
  const constants = items.map((item) => item.const);
  if (constants.every((value) => typeof value === 'string')) return { type: 'string', enum: constants };
  const different = new Map(items.map((item) => [JSON.stringify(item), item]));
  const [first, ...others] = [...different.values()];
  return others.length === 0 && first !== undefined ? first : { anyOf: [...different.values()] };
}

/** Merges constants of one type into one alternative. */
function grouped(schema: Schema, anyOf: readonly Schema[]): Schema {
  const constants = anyOf.map((each) => each.const);
  if (constants.includes(undefined)) return schema;
  const alternatives = ['integer', 'string'].flatMap((type) => {
    const values = constants.filter((value) => (type === 'string' ? typeof value === type : Number.isInteger(value)));
    return values.length === 0 ? [] : [{ type, enum: values }];
  });
  return { ...schema, anyOf: alternatives };
}

/** Writes consecutive codes as a range: a named enumeration would get the same name as the list of its codes. */
function range(schema: Schema, codes: readonly number[]): Schema {
  const [first, last] = [Math.min(...codes), Math.max(...codes)];
  if (last - first + 1 !== new Set(codes).size) return schema;
  const { enum: _enum, ...rest } = schema;
  return { ...rest, minimum: first, maximum: last };
}

/**
 * Where names cannot contain `@` (Go), a model with `@id` and `id` would declare one member twice and not compile. So a
 * pattern describes one of the two: `id` in answers, where `@id` contains it; otherwise the member with the `@`.
 */
function distinct({ propertyNames: _strings, ...schema }: Schema): Schema {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
  const hidden = Object.keys(properties).flatMap((name) => {
    if (!name.startsWith('@') || !(name.slice(1) in properties)) return [];
    return name === '@id' && properties[name]?.readOnly !== true ? 'id' : name;
  });
  if (hidden.length === 0) return schema;
  const shown = Object.entries(properties).filter(([name]) => !hidden.includes(name));
  const required = ((schema.required ?? []) as readonly string[]).filter((name) => !hidden.includes(name));
  const { required: _required, ...rest } = schema;
  return {
    ...rest,
    properties: Object.fromEntries(shown),
    patternProperties: Object.fromEntries(hidden.map((name) => [`^${name}$`, properties[name]])),
    ...(required.length === 0 ? {} : { required }),
  };
}
