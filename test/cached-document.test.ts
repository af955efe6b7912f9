/** Documents of the API are built at most twice, and contain the base URL of each request. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cachedDocument } from '../src/rest/description/documentation.ts';
import { hydraDocumentation } from '../src/rest/description/hydra-documentation.ts';
import { intakeSchema, webhookSchema } from '../src/rest/description/message-schemas.ts';

for (const [name, build] of [
  ['the schema of intake messages', intakeSchema],
  ['the schema of webhooks', webhookSchema],
  ['the Hydra documentation', hydraDocumentation],
] as const) {
  test(`${name} equals the document built for each URL, and is built once with a URL and once without`, () => {
    let builds = 0;
    const document = cachedDocument((baseUrl) => {
      builds += 1;
      return build(baseUrl);
    });
    for (const baseUrl of ['https://a.example', 'http://127.0.0.1:8080', 'https://b.example/$&/\'"x', '']) {
      assert.deepEqual(JSON.parse(document(baseUrl)), JSON.parse(JSON.stringify(build(baseUrl))));
    }
    for (let asked = 0; asked < 100; asked++) document(`https://${asked}.example`);
    assert.equal(builds, 2, 'one with a URL, one without');
  });
}
