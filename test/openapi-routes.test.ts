/** `/openapi.json` lists the routes that the router serves to clients, whichever features exist. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadReference } from '../src/engine/reference/communes.ts';
import { createRoutes } from '../src/rest/api.ts';
import { contractExamples } from '../src/rest/description/contract-examples.ts';
import { openApiDocument } from '../src/rest/description/openapi.ts';

/** Routes not meant for clients: pages, contracts, and links in e-mails. */
const FOR_OTHERS = /^\w+ \/(?:$|docs|contexts\/|openapi\.json$|schemas\/|unsubscribe\/)/;

test('the document lists every route that the router serves to clients, and no other', async () => {
  const { paths } = openApiDocument('0.0.0', contractExamples(await loadReference())) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  const listed = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const unused = { onFeed: () => undefined, onKeyChange: () => undefined, ending: new AbortController().signal };
  const served = createRoutes({ settings: {}, ...unused } as never).router.stack.flatMap(({ path, methods }) =>
    methods
      .filter((method) => method !== 'HEAD')
      .map((method) => `${method} ${String(path).replace(/:(\w+)/g, '{$1}')}`),
  );
  assert.deepEqual(listed.sort(), served.filter((each) => !FOR_OTHERS.test(each)).sort());
});
