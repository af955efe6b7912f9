/**
 * The JSON-LD contexts, read off the JSON Schemas so that every member of every answer has an IRI and expanding an
 * answer loses nothing (JSON-LD 1.1): objects without an identity of their own get a scoped context, arrays of values
 * keep their order as lists, and free-form JSON stays JSON.
 */

import { ENTRYPOINT_MEMBERS } from './entrypoint-members.ts';
import { JSON_SCHEMAS, type JsonSchema, nameOfReference, withoutNull } from './json-schemas.ts';
import { RESOURCES } from './resource-schemas.ts';

type Term = string | Readonly<Record<string, unknown>>;
type Terms = Readonly<Record<string, Term>>;

const HYDRA = 'http://www.w3.org/ns/hydra/core#';

/** Terms of the collection envelope; those of `hydra:mapping` hold inside it only. */
const ENVELOPE_TERMS: Terms = {
  hydra: HYDRA,
  xsd: 'http://www.w3.org/2001/XMLSchema#',
  'hydra:member': { '@id': 'hydra:member', '@container': '@list' },
  'hydra:mapping': {
    '@id': 'hydra:mapping',
    '@context': {
      variable: 'hydra:variable',
      property: 'hydra:property',
      required: 'hydra:required',
      IriTemplateMapping: 'hydra:IriTemplateMapping',
    },
  },
};

/** Null when there is no context of this name. */
export function jsonLdContext(name: string, baseUrl: string): object | null {
  const terms = termsOf(name);
  if (terms === null) return null;
  return { '@context': { '@vocab': `${baseUrl}/docs.jsonld#`, ...ENVELOPE_TERMS, ...terms } };
}

function termsOf(name: string): Terms | null {
  if (name === 'Entrypoint') {
    return Object.fromEntries(
      Object.keys(ENTRYPOINT_MEMBERS).map((member) => [member, { '@id': `Entrypoint/${member}`, '@type': '@id' }]),
    );
  }
  if (name === 'Error') return {};
  const isKnown = Object.hasOwn(RESOURCES, name) || name === 'ConstraintViolationList';
  return isKnown ? memberTerms(name, JSON_SCHEMAS[name] as JsonSchema) : null;
}

function memberTerms(name: string, schema: JsonSchema): Terms {
  const members = Object.entries(schema.properties ?? {}).filter(([member]) => !/^@|:/.test(member));
  return Object.fromEntries(members.map(([member, value]) => [member, termOf(`${name}/${member}`, value)]));
}

function termOf(id: string, schema: JsonSchema): Term {
  const value = withoutNull(schema);
  if (value['x-class'] !== undefined) return { '@id': id, '@type': '@id' };
  if (value.format === 'date-time') return { '@id': id, '@type': 'xsd:dateTime' };
  const items = value.items;
  if (items !== undefined && value.type === 'array') {
    // Lists of lists, such as polygons: a set would lose their order and their borders.
    if (items.type === 'array') return { '@id': id, '@type': '@json' };
    return { ...scoped(id, items), '@container': '@list' };
  }
  const isAlternative = value.anyOf !== undefined;
  const isFreeForm = value.type === 'object' && value.properties === undefined;
  if (isAlternative || isFreeForm) return { '@id': id, '@type': '@json' };
  return scoped(id, value);
}

/** A part without an identity gets its terms here; a resource inside brings its own `@context`. */
function scoped(id: string, schema: JsonSchema): Readonly<Record<string, unknown>> {
  const name = nameOfReference(schema);
  const target = name === null ? schema : (JSON_SCHEMAS[name] as JsonSchema);
  const bringsContext = target.properties?.['@context'] !== undefined;
  if (target.properties === undefined || bringsContext) return { '@id': id };
  return { '@id': id, '@context': memberTerms(name ?? id, target) };
}
