/**
 * JSON Schemas in the words that every generator of clients understands, however little of 2020-12 it knows: one type for
 * each schema, items for each array, constants as enumerations of one. They say the same, but for tuples, whose members
 * lose their order.
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
  if (type === 'object' && 'propertyNames' in schema) return withoutNames(schema);
  return schema;
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

/** Names are strings in any case. */
function withoutNames({ propertyNames: _names, ...rest }: Schema): Schema {
  return rest;
}
