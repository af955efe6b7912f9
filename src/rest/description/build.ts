/**
 * Generates the console's types of REST answers from the schemas that OpenAPI publishes. Also generates lists for the
 * console, such as those of criteria, flags and code samples. `--check` compares the file instead of writing it.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { ENERGY_CATEGORIES } from '../../engine/domain/codes.ts';
import { ASKED_CRITERIA, plainCriteria } from '../../engine/domain/criterion-table.ts';
import { UNITS } from '../../engine/domain/criterion-words.ts';
import { FEATURE_VOCABULARY } from '../../engine/domain/feature-vocabulary.ts';
import { FEATURE_NAMES } from '../../engine/domain/features.ts';
import { eachFlag, PROPERTY_FLAGS } from '../../engine/domain/property-flags.ts';
import { VERIFIERS } from './code-samples.ts';
import { JSON_SCHEMAS, type JsonSchema, nameOfReference } from './json-schemas.ts';
import { PARTS, RESOURCES } from './resource-schemas.ts';

const TARGET = new URL('../../console/page/generated/documents.ts', import.meta.url);

interface Described extends JsonSchema {
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
}

/** Without the suffix, many names would clash with those of components or of the browser. */
function typeNamed(name: string): string {
  return name.endsWith('Document') ? name : `${name}Document`;
}

function typeOf(schema: Described): string {
  const name = nameOfReference(schema);
  if (name !== null) return typeNamed(name);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.prefixItems !== undefined) return `readonly [${schema.prefixItems.map(typeOf).join(', ')}]`;
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ');
  if (schema.type === 'array') return `readonly (${typeOf(schema.items ?? {})})[]`;
  if (schema.type === 'object') return membersOf(schema);
  if (schema.type === 'integer') return 'number';
  return String(schema.type ?? 'unknown');
}

function membersOf({ properties = {}, required = [] }: Described): string {
  const members = Object.entries(properties).map(
    ([name, schema]) => `readonly '${name}'${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`,
  );
  return `{\n${members.join('\n')}\n}`;
}

const LISTS = {
  RANGE_UNITS: Object.fromEntries(plainCriteria('range').map(({ name, words }) => [name, UNITS[words.unit].trim()])),
  RANGE_MEMBERS: plainCriteria('range').flatMap(({ minName, maxName }) => [minName ?? [], maxName].flat()),
  LETTER_MEMBERS: plainCriteria('letters').map(({ memberName }) => memberName),
  ENERGY_CATEGORIES,
  FLAG_CRITERIA: plainCriteria('flag').map(({ name }) => name),
  REQUIREMENTS: plainCriteria('requirement').map(({ name }) => name),
  CRITERION_MEMBERS: Object.fromEntries(ASKED_CRITERIA.map(({ name, members }) => [name, Object.keys(members)])),
  FLAG_LABELS: eachFlag((name) => PROPERTY_FLAGS[name].label),
  VERIFIERS,
  FEATURE_LABELS: Object.fromEntries(FEATURE_NAMES.map((name) => [name, FEATURE_VOCABULARY[name].label])),
};

const names = Object.keys({ ...RESOURCES, ...PARTS });
const written = [
  '// Written by src/rest/description/build.ts.\n',
  ...names.map((name) => `export interface ${typeNamed(name)} ${membersOf(JSON_SCHEMAS[name] ?? {})}\n`),
  ...Object.entries(LISTS).map(([name, list]) => `export const ${name} = ${JSON.stringify(list)} as const;\n`),
].join('\n');

if (!process.argv.includes('--check')) await writeFile(TARGET, written);
else if ((await readFile(TARGET, 'utf8')) !== written)
  throw new Error(`${TARGET.pathname} is outdated. Run npm run generate.`);
