/**
 * The JSON-LD contexts (JSON-LD 1.1), derived from the JSON Schemas. Every member of an answer has an IRI, so expanding
 * an answer loses nothing. Objects without an identity get a scoped context, arrays of values become lists, which keep
 * their order, and free-form JSON stays JSON. The members of a collection are a set, as in Hydra. No definition of a
 * term uses the term itself: streaming processors would report a cycle.
 */

import { collectionPath } from '../routes.ts';
import { JSON_SCHEMAS, type JsonSchema, nameOfReference, withoutNull } from './json-schemas.ts';
import { RESOURCES } from './resource-schemas.ts';

type Term = string | Readonly<Record<string, unknown>>;
type Terms = Readonly<Record<string, Term>>;

const HYDRA = 'http://www.w3.org/ns/hydra/core#';

const LINK = (name: string): Term => ({ '@id': HYDRA + name, '@type': '@id' });

/** Terms of the collection envelope; those of `hydra:mapping` apply only inside it. */
const ENVELOPE_TERMS: Terms = {
  hydra: HYDRA,
  xsd: 'http://www.w3.org/2001/XMLSchema#',
  ...Object.fromEntries(['first', 'last', 'previous', 'next'].map((name) => [`hydra:${name}`, LINK(name)])),
  'hydra:variableRepresentation': { '@id': `${HYDRA}variableRepresentation`, '@type': '@vocab' },
  BasicRepresentation: `${HYDRA}BasicRepresentation`,
  collectionType: { '@id': 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type', '@type': '@vocab' },
  'hydra:mapping': {
    '@id': `${HYDRA}mapping`,
    '@context': {
      variable: `${HYDRA}variable`,
      // The name of a filtered or ordered member means the same as in the resource.
      property: { '@id': `${HYDRA}property`, '@type': '@vocab' },
      required: `${HYDRA}required`,
      IriTemplateMapping: `${HYDRA}IriTemplateMapping`,
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
  // A member whose IRI follows from the vocabulary needs no term.
  const terms = members.filter(([member]) => memberIri(name, member) !== member);
  return Object.fromEntries(terms.map(([member, value]) => [member, termOf(memberIri(name, member), value)]));
}

function termOf(id: string, schema: JsonSchema): Term {
  const value = withoutNull(schema);
  if (value['x-class'] !== undefined) return { '@id': id, '@type': '@id' };
  if (value.format === 'date-time') return { '@id': id, '@type': 'xsd:dateTime' };
  const { items } = value;
  if (items !== undefined && value.type === 'array') {
    if (items['x-class'] !== undefined) return { '@id': id, '@type': '@id' };
    // Lists of lists, such as polygons: a set would lose the order and the boundaries of the inner lists.
    if (items.type === 'array') return { '@id': id, '@type': '@json' };
    const terms = scoped(id, items);
    return id === VIOLATIONS ? terms : { ...terms, '@container': '@list' };
  }
  return isFreeForm(value) ? { '@id': id, '@type': '@json' } : scoped(id, value);
}

/** A set, not a list: clients that show the violations of a form search for the nodes themselves. */
const VIOLATIONS = 'ConstraintViolationList/violations';

/** True for objects with unknown members, and for alternatives unless each is a plain value or a list of them. */
function isFreeForm({ anyOf, type, properties }: JsonSchema): boolean {
  if (anyOf !== undefined) return anyOf.some((variant) => !isPlain(variant.items ?? variant));
  return type === 'object' && properties === undefined;
}

function isPlain({ type }: JsonSchema): boolean {
  return type !== undefined && type !== 'object' && type !== 'array';
}

/** A part without an identity gets its terms here; a nested resource has its own `@context`. */
function scoped(id: string, schema: JsonSchema): Readonly<Record<string, unknown>> {
  const reference = nameOfReference(schema);
  const target = reference === null ? schema : (JSON_SCHEMAS[reference] as JsonSchema);
  const name = id === VIOLATIONS ? 'ConstraintViolation' : (reference ?? id);
  const bringsContext = target.properties?.['@context'] !== undefined;
  if (target.properties === undefined || bringsContext) return { '@id': id };
  return { '@id': id, '@context': memberTerms(name, target) };
}

/**
 * Every collection that can be read without a parameter, by resource. The entrypoint cannot link to others, such as
 * points of interest, which require coordinates.
 */
export const ENTRYPOINT_COLLECTIONS: ReadonlyMap<string, string> = new Map(
  Object.keys(RESOURCES).flatMap((resource) => {
    const path = collectionPath(resource);
    return path === null ? [] : [[resource, path] as const];
  }),
);

/** The members of the Hydra entrypoint, path by name: `search` has the path `/searches`. */
export const ENTRYPOINT_MEMBERS: Readonly<Record<string, string>> = Object.fromEntries(
  [...ENTRYPOINT_COLLECTIONS].map(([resource, path]) => [memberOf(resource), path]),
);

export function memberOf(resource: string): string {
  return resource.charAt(0).toLowerCase() + resource.slice(1);
}

/** Clients display a reference by the member that is its schema.org name. */
const NAME = 'https://schema.org/name';

/** Members that clients find by a common IRI. */
const WELL_KNOWN: Readonly<Record<string, string>> = {
  'Search/title': NAME,
  'PropertyDocument/title': NAME,
  'City/name': NAME,
  'Department/name': NAME,
  'SiteCategory/name': NAME,
  'Feature/name': NAME,
  'Location/label': NAME,
  'PublisherName/name': NAME,
  'User/name': NAME,
  // API Platform's clients find the field and the message of a violation by these names.
  'ConstraintViolation/propertyPath': 'propertyPath',
  'ConstraintViolation/message': 'message',
  'ConstraintViolation/code': 'code',
};

/** The IRI of a member in `/docs.jsonld` and in the contexts: absolute, or relative as in `Search/budgetMin`. */
export function memberIri(className: string, member: string): string {
  const own = `${className}/${member}`;
  return WELL_KNOWN[own] ?? own;
}

export function isOwnIri(iri: string): boolean {
  return !iri.includes(':');
}
