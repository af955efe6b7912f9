/**
 * Writes the answers of the REST interface as types of the console, from the schemas that OpenAPI publishes. `--check`
 * compares instead.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { JSON_SCHEMAS, type JsonSchema, nameOfReference } from './json-schemas.ts';
import { PARTS, RESOURCES } from './resource-schemas.ts';

const TARGET = new URL('../../console/page/generated/documents.ts', import.meta.url);

interface Described extends JsonSchema {
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
}

function typeOf(schema: Described): string {
  const name = nameOfReference(schema);
  if (name !== null) return name;
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

const names = Object.keys({ ...RESOURCES, ...PARTS });
const written = [
  '// Written by src/rest/description/build.ts.\n',
  ...names.map((name) => `export interface ${name} ${membersOf(JSON_SCHEMAS[name] ?? {})}\n`),
].join('\n');

if (!process.argv.includes('--check')) await writeFile(TARGET, written);
else if ((await readFile(TARGET, 'utf8')) !== written)
  throw new Error('run npm run generate: the documents have changed');
