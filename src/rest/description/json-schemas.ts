/** The zod schemas as JSON Schema (2020-12, which OpenAPI 3.1 takes as it is), by name, with references among them. */

import { z } from 'zod';
import { SearchChange, SearchCreation } from '../search-schema.ts';
import { VIOLATIONS_MAX } from '../violations.ts';
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
        propertyPath: z.string().meta({ description: 'Such as includedCities[2]; empty for the body as a whole.' }),
        message: z.string(),
        code: z.string().meta({ description: 'Stable, for programs.' }),
      }),
    )
    .meta({ description: `The first ${VIOLATIONS_MAX} at most.` }),
  violationCount: z.int().meta({ description: 'How many there are in all.' }),
});

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly readOnly?: boolean;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly prefixItems?: readonly JsonSchema[];
  /** The class that an IRI leads to. */
  readonly 'x-class'?: string;
}

const SCHEMAS_PATH = '#/components/schemas/';

const BODIES = Object.fromEntries(Object.entries(FEATURE_BODIES).map(([name, { schema }]) => [name, schema]));

/** Of every answer and every body. */
export const JSON_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...convert(
    { ...RESOURCES, ...PARTS, ...ALERTS, Problem: problemSchema, ConstraintViolationList: violationListSchema },
    'output',
  ),
  ...convert({ SearchCreation, SearchChange, ...BODIES }, 'input'),
};

function convert(schemas: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  // Descriptions of members live in zod's own registry, names in ours.
  const converted = z.toJSONSchema(registry, {
    io,
    unrepresentable: 'any',
    uri: (id) => `${SCHEMAS_PATH}${id}`,
    override: ({ zodSchema, jsonSchema }) => {
      Object.assign(jsonSchema, z.globalRegistry.get(zodSchema));
      // Answers are open: a member that is added later breaks no client that was made before.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // `format` says it, and the bounds are those of every JSON integer.
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

/** The name in a reference, or null. */
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
