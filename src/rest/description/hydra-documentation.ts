/**
 * `/docs.jsonld`: the Hydra ApiDocumentation in the form of API Platform 2.7, derived from the table of routes and the
 * JSON Schemas.
 */

import { collectionClassOf } from '../hydra.ts';
import type { Route } from '../route.ts';
import { ROUTES } from '../routes.ts';
import { ENTRYPOINT_COLLECTIONS, isOwnIri, memberIri, memberOf } from './json-ld-contexts.ts';
import { JSON_SCHEMAS, type JsonSchema, nameOfReference, referenceTo, withoutNull } from './json-schemas.ts';
import { PARTS, RESOURCES } from './resource-schemas.ts';

const CONTEXT = {
  hydra: 'http://www.w3.org/ns/hydra/core#',
  rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  rdfs: 'http://www.w3.org/2000/01/rdf-schema#',
  xmls: 'http://www.w3.org/2001/XMLSchema#',
  owl: 'http://www.w3.org/2002/07/owl#',
  schema: 'https://schema.org/',
  domain: { '@id': 'rdfs:domain', '@type': '@id' },
  range: { '@id': 'rdfs:range', '@type': '@id' },
  subClassOf: { '@id': 'rdfs:subClassOf', '@type': '@id' },
  expects: { '@id': 'hydra:expects', '@type': '@id' },
  returns: { '@id': 'hydra:returns', '@type': '@id' },
} as const;

export function hydraDocumentation(baseUrl: string): object {
  const resources = Object.keys(RESOURCES);
  return {
    '@context': { '@vocab': `${baseUrl}/docs.jsonld#`, ...CONTEXT },
    '@id': '/docs.jsonld',
    '@type': 'hydra:ApiDocumentation',
    'hydra:title': 'Vigie',
    'hydra:description': 'Saved real-estate searches, their alerts, and the deliveries of these alerts.',
    'hydra:entrypoint': { '@id': '/' },
    'hydra:supportedClass': [
      ...resources.map(resourceClass),
      ...Object.keys(PARTS)
        .filter((name) => name !== 'CityReference')
        .map((name) => partClass(name, JSON_SCHEMAS[name])),
      ...resources.filter((name) => collectionOperations(name).length > 0).map(collectionClass),
      entrypointClass([...ENTRYPOINT_COLLECTIONS.keys()]),
      ...errorClasses(),
    ],
  };
}

function resourceClass(name: string): object {
  const creation = ROUTES.find((one) => one.resource === name && one.method === 'post' && one.body !== null);
  return {
    ...partClass(name, JSON_SCHEMAS[name], JSON_SCHEMAS[creation?.body ?? '']),
    'hydra:supportedOperation': ROUTES.filter((one) => one.resource === name && one.path.endsWith('}')).map(operation),
  };
}

/** `properties` and `required`: those of the body that creates the resource; empty when no body does. */
function partClass(name: string, schema: JsonSchema = {}, { properties = {}, required = [] }: JsonSchema = {}): object {
  const members = Object.entries(schema.properties ?? {});
  return {
    '@id': `#${name}`,
    '@type': 'hydra:Class',
    'rdfs:label': name,
    'hydra:title': name,
    'hydra:supportedProperty': members
      .filter(([member]) => !member.startsWith('@'))
      .map(([member, schema]) =>
        supportedProperty(name, member, schema, {
          isWritable: member in properties && properties[member]?.readOnly !== true,
          isRequired: required.includes(member),
        }),
      ),
  };
}

interface Access {
  readonly isWritable: boolean;
  readonly isRequired: boolean;
}

function supportedProperty(
  name: string,
  member: string,
  schema: JsonSchema,
  { isWritable, isRequired }: Access,
): object {
  const value = withoutNull(schema);
  const linked = value['x-class'] ?? value.items?.['x-class'];
  const iri = memberIri(name, member);
  return {
    '@type': 'hydra:SupportedProperty',
    'hydra:property': {
      '@id': isOwnIri(iri) ? `#${iri}` : iri,
      '@type': linked === undefined ? 'rdf:Property' : 'hydra:Link',
      'rdfs:label': member,
      // A property that several classes share has no domain.
      ...(isOwnIri(iri) ? { domain: `#${name}` } : {}),
      range: linked === undefined ? (isWritable ? inputRangeOf(schema) : rangeOf(schema)) : `#${linked}`,
      // Clients treat every other property as a list.
      ...(isSingle(value) ? { 'owl:maxCardinality': 1 } : {}),
    },
    'hydra:title': member,
    'hydra:required': isRequired,
    'hydra:readable': true,
    'hydra:writeable': isWritable,
    ...(schema.description === undefined ? {} : { 'hydra:description': schema.description }),
  };
}

function isSingle({ anyOf, type }: JsonSchema): boolean {
  return type !== 'array' && !(anyOf ?? []).some((variant) => variant.type === 'array');
}

const RANGES: Readonly<Record<string, string>> = {
  boolean: 'xmls:boolean',
  integer: 'xmls:integer',
  number: 'xmls:double',
  decimal: 'xmls:decimal',
  string: 'xmls:string',
};

/** For an array of a named schema, the range of the items; for any other, `array`; for alternatives, the first. */
function rangeOf(schema: JsonSchema): string {
  const value = withoutNull(schema);
  const name = nameOfReference(value);
  if (name !== null) return `#${name === 'CityReference' ? 'City' : name}`;
  if (value.format === 'date-time') return 'xmls:dateTime';
  if (value.items !== undefined) return nameOfReference(value.items) === null ? 'xmls:array' : rangeOf(value.items);
  const [variant] = value.anyOf ?? [];
  if (variant !== undefined) return rangeOf(variant);
  const types = Array.isArray(value.type) ? value.type : [value.type];
  return RANGES[String(types.find((type) => type !== 'null'))] ?? 'rdfs:Resource';
}

/**
 * A flag that may be unset gets a range for which forms do not show a switch. A switch has no unset state: an untouched
 * one would mean, for example, unfurnished.
 */
function inputRangeOf(schema: JsonSchema): string {
  const types = [schema.type ?? []].flat();
  return types.includes('boolean') && types.includes('null') ? 'schema:Boolean' : rangeOf(schema);
}

function operation({ method, summary, resource, answers, body }: Route): object {
  const returns = { item: `#${resource}`, collection: 'hydra:Collection', nothing: 'owl:Nothing' }[answers];
  return {
    '@type': 'hydra:Operation',
    'hydra:method': method.toUpperCase(),
    'hydra:title': summary,
    'rdfs:label': summary,
    ...(body === null ? {} : { expects: body === 'SearchPreview' ? '#Search' : `#${resource}` }),
    returns,
  };
}

function collectionOperations(resource: string): object[] {
  return ROUTES.filter((one) => one.resource === resource && !one.path.includes('{')).map(operation);
}

/** Repeats the operations that the entrypoint lists for the collection, for clients that did not start there. */
function collectionClass(resource: string): object {
  return {
    '@id': `#${collectionClassOf(resource)}`,
    '@type': 'hydra:Class',
    subClassOf: 'hydra:Collection',
    'hydra:title': `A collection of ${resource} resources`,
    'hydra:supportedOperation': collectionOperations(resource),
  };
}

function entrypointClass(resources: readonly string[]): object {
  return {
    '@id': '#Entrypoint',
    '@type': 'hydra:Class',
    'hydra:title': 'The API entrypoint',
    'hydra:supportedProperty': resources.map((resource) => ({
      '@type': 'hydra:SupportedProperty',
      'hydra:property': {
        '@id': `#Entrypoint/${memberOf(resource)}`,
        '@type': 'hydra:Link',
        domain: '#Entrypoint',
        'rdfs:label': `The collection of ${resource} resources`,
        'rdfs:range': [
          { '@id': 'hydra:Collection' },
          {
            'owl:equivalentClass': {
              'owl:onProperty': { '@id': 'hydra:member' },
              'owl:allValuesFrom': { '@id': `#${resource}` },
            },
          },
        ],
        'hydra:supportedOperation': collectionOperations(resource),
      },
      'hydra:title': `The collection of ${resource} resources`,
      'hydra:readable': true,
      'hydra:writeable': false,
    })),
    'hydra:supportedOperation': {
      '@type': 'hydra:Operation',
      'hydra:method': 'GET',
      'rdfs:label': 'The API entrypoint',
      returns: '#Entrypoint',
    },
  };
}

function errorClasses(): object[] {
  const text = { type: 'string' };
  const integer = { type: 'integer' };
  const violation = { propertyPath: text, message: text, code: text };
  const violations = { type: 'array', items: referenceTo('ConstraintViolation') };
  const limit = { limit: text, maximum: integer, used: { type: 'decimal' } };
  const error = { subClassOf: 'hydra:Error' };
  return [
    { ...partClass('ConstraintViolation', { properties: violation }), 'hydra:title': 'A constraint violation' },
    {
      ...partClass('ConstraintViolationList', { properties: { violations, violationCount: integer } }),
      ...{ ...error, 'hydra:title': 'A list of constraint violations' },
    },
    { ...partClass('LimitReached', { properties: limit }), ...error, 'hydra:title': 'A client has reached a limit' },
  ];
}
