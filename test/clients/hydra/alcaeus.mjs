/**
 * Follows the API with alcaeus from the entrypoint to the collections, their pages and members, and prints what it
 * found. Arguments: the address of the API, the key, and further paths to load.
 */

import formats from '@rdfjs/formats';
import parent from '@zazuko/env';
import Environment from '@zazuko/env/Environment.js';
import create from 'alcaeus';

const [baseUrl, key, ...paths] = process.argv.slice(2);
const environment = new Environment([create()].flat(), { parent });
environment.formats.import(formats);
const client = environment.hydra;
client.baseUri = baseUrl;
client.defaultHeaders = { 'X-API-KEY': key };

const relative = (iri) => iri?.replace(baseUrl, '').replace('/docs.jsonld', '');
const operationsOf = (resource) =>
  resource.operations.map(({ method, expects }) => [method, ...expects.map(({ id }) => relative(id.value))].join(' '));
const describe = (resource) => ({
  id: relative(resource.id.value),
  types: [...resource.types].map((type) => relative(type.value ?? type.id.value)),
  operations: operationsOf(resource).sort(),
});

/** The values of the API's own vocabulary, by member. */
function valuesOf(resource) {
  const values = {};
  for (const { predicate, object } of resource.pointer.dataset.match(resource.id)) {
    const name = predicate.value.split('#')[1] ?? predicate.value;
    values[name] = object.termType === 'BlankNode' ? '_' : relative(object.value);
  }
  return values;
}

const { representation: entry } = await client.loadResource(`${baseUrl}/`);
const collections = entry.root
  .getLinks()
  .flatMap(({ resources, supportedProperty }) =>
    resources.map((one) => ({ property: relative(supportedProperty.property.id.value), ...describe(one) })),
  );

const loaded = [];
for (const path of paths) {
  const { representation, response } = await client.loadResource(`${baseUrl}${path}`);
  const { root } = representation;
  const [view] = [root.view ?? []].flat();
  loaded.push({
    path,
    status: response.xhr.status,
    ...describe(root),
    total: root.totalItems,
    members: root.member?.map((one) => relative(one.id.value)),
    next: relative(view?.next?.id.value),
    filters: Object.fromEntries(
      [root.search ?? []]
        .flat()
        .flatMap(({ mapping }) => mapping.map((one) => [one.variable, relative(one.property.id.value)])),
    ),
    memberOperations: root.member?.[0] && operationsOf(root.member[0]).sort(),
    values: valuesOf(root),
  });
}
process.stdout.write(JSON.stringify({ collections, loaded }));
