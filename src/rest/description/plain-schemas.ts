/**
 * JSON Schemas in the words that every generator of clients understands, however little of 2020-12 it knows: one type for
 * each schema, items for each array, constants as enumerations of one, a width for each number, no two members whose names
 * differ by an `@` alone. They say the same, but for tuples, whose members lose their order, and for the second of such
 * two members, which an open schema leaves undescribed and a closed one admits by a pattern.
 */

type Schema = Readonly<Record<string, unknown>>;

/** What belongs to which type; the rest is about the value as a whole, and stays beside the alternatives. */
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
/** Their values are values, or names of values, and no schemas. */
const OPAQUE: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum', 'const', 'required']);

/** Without them some generators take 32 bits, in which 25,500,001 is 25,500,000. */
const WIDTHS = { number: 'double', integer: 'int64' } as const;

/** The same document with every schema in it plain. */
export function plain<Document>(document: Document): Document {
  return plainValue(document) as Document;
}

function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value !== 'object' || value === null) return value;
  const simple = simplified(value as Schema);
  return Object.fromEntries(
    Object.entries(simple).map(([name, member]) => [name, OPAQUE.has(name) ? member : plainValue(member)]),
  );
}

function simplified(schema: Schema): Schema {
  const { type } = schema;
  if (Array.isArray(type)) return alternatives(schema, type as readonly string[]);
  if (type === 'array') return listed(schema);
  if (typeof schema.const === 'string') return constant(schema, schema.const);
  if (Array.isArray(schema.anyOf)) return grouped(schema, schema.anyOf as readonly Schema[]);
  if (type === 'integer' && Array.isArray(schema.enum)) return sized(range(schema, schema.enum as readonly number[]));
  if (type === 'object') return distinct(withoutNames(schema));
  return sized(schema);
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
  // A list that is empty in any case.
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

function constant({ const: _constant, ...rest }: Schema, value: string): Schema {
  return { ...rest, type: 'string', enum: [value] };
}

/** Constants of one type are one alternative. */
function grouped(schema: Schema, anyOf: readonly Schema[]): Schema {
  const constants = anyOf.map((each) => each.const);
  if (constants.includes(undefined)) return schema;
  const alternatives = ['integer', 'string'].flatMap((type) => {
    const values = constants.filter((value) => (type === 'string' ? typeof value === type : Number.isInteger(value)));
    return values.length === 0 ? [] : [{ type, enum: values }];
  });
  return { ...schema, anyOf: alternatives };
}

/** A range of integers that has a name would be given the same one as the list of them. */
function range(schema: Schema, codes: readonly number[]): Schema {
  const [first, last] = [Math.min(...codes), Math.max(...codes)];
  if (last - first + 1 !== new Set(codes).size) return schema;
  const { enum: _enum, ...rest } = schema;
  return { ...rest, minimum: first, maximum: last };
}

/**
 * In languages whose names have no `@` the model would have one member twice, and generators leave it out. Beside `@id` the
 * number goes, by which nothing is asked; beside `type` what JSON-LD adds. It is described by a pattern instead.
 */
function distinct(schema: Schema): Schema {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
  const hidden = Object.keys(properties).flatMap((name) => {
    if (!name.startsWith('@') || !(name.slice(1) in properties)) return [];
    return name === '@id' && properties[name]?.readOnly !== true ? 'id' : name;
  });
  if (hidden.length === 0) return schema;
  const shown = Object.entries(properties).filter(([name]) => !hidden.includes(name));
  const required = ((schema.required ?? []) as readonly string[]).filter((name) => !hidden.includes(name));
  const patterns = hidden.map((name) => [`^${name}$`, properties[name]]);
  const { required: _required, ...rest } = schema;
  return {
    ...rest,
    properties: Object.fromEntries(shown),
    ...(schema.additionalProperties === false ? { patternProperties: Object.fromEntries(patterns) } : {}),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** Names are strings in any case. */
function withoutNames({ propertyNames: _names, ...rest }: Schema): Schema {
  return rest;
}
