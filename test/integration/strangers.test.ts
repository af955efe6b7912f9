/**
 * Another client's identifiers give 404 or nothing, everywhere: every operation of the OpenAPI document is called with
 * what one client has, under the key of another one.
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { sampleChange } from '../../src/api/webhook-sample.ts';
import { startTestApi } from '../support/api.ts';

const api = await startTestApi({ after });
const SECRET_TITLE = 'nobody else reads this';

interface Operation {
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly example?: unknown;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: object }>> };
}

/** What the owner has, by the name of the resource in paths. */
async function own(): Promise<Readonly<Record<string, string>>> {
  const search = await api.call('POST', '/searches', { title: SECRET_TITLE, notificationEnabled: true });
  const secret = await api.call('POST', '/webhook-secrets', {});
  const recovery = await api.call('POST', '/recoveries', { since: new Date().toISOString() });
  const { held } = sampleChange('ad.update.price', new Date());
  const [id, match, delivery, property] = [search.body['@id'].slice(10), randomUUID(), randomUUID(), held.state.uuid];
  const number = '(select number from searches where id = $1)';
  await api.database.query('insert into properties (uuid, state, crawls, is_land) values ($1, $2, $3, false)', [
    property,
    JSON.stringify(held.state),
    JSON.stringify(held.crawls),
  ]);
  await api.database.query(`insert into matches values ($2, ${number}, $3, now(), now())`, [id, match, property]);
  await api.database.query(
    `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id)
     values ($2, ${number}, $3, 'event', 'ad.update.price', 'https://h.example.com', 'k', '', $3)`,
    [id, delivery, match],
  );
  const { user } = search.body;
  const recoveryId = recovery.body['@id'].slice(12);
  const others = { 'webhook-secrets': secret.body.id, recoveries: recoveryId };
  return { searches: id, matches: match, deliveries: delivery, users: user.slice(7), property, ...others };
}

test('what one client has is nothing to another one, whatever it asks for', async () => {
  const owned = await own();
  const stranger = { key: await api.newClient('stranger') };
  const { paths } = (await (await fetch(`${api.baseUrl}/openapi.json`)).json()) as {
    paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  let asked = 0;
  for (const [template, operations] of Object.entries(paths)) {
    for (const [method, { parameters, requestBody }] of Object.entries(operations)) {
      if (template === '/webhook-tester') continue;
      const resource = template.split('/')[1] as string;
      const id = owned[resource];
      const body = Object.values(requestBody?.content ?? {})[0]?.example;
      const required = parameters.filter((each) => each.in === 'query' && each.required === true);
      const fixed = required.map(({ name, example }) => [name, String([example].flat()[0])] as const);
      // One of several must be sent.
      if (template === '/searches/{id}/explanation') fixed.push(['property', owned.property as string]);
      const asks: { readonly path: string; readonly isNamed: boolean }[] = [];
      if (template.includes('{id}') && id !== undefined) {
        asks.push({ path: withQuery(template.replace('{id}', id), fixed), isNamed: true });
      }
      for (const { name } of template.includes('{') ? [] : parameters) {
        const named = { search: 'searches', match: 'matches' }[name];
        if (named === undefined) continue;
        const query = [...fixed.filter(([each]) => each !== name), [name, `/${named}/${owned[named]}`] as const];
        asks.push({ path: withQuery(template, query), isNamed: false });
      }
      if (!template.includes('{') && method === 'get') asks.push({ path: withQuery(template, fixed), isNamed: false });
      for (const { path, isNamed } of asks) {
        const { status, text, headers } = await api.call(method.toUpperCase(), path, body, stranger);
        const what = `${method} ${path}: ${status} ${text.slice(0, 300)}`;
        asked += 1;
        if (isNamed) assert.equal(status, 404, what);
        assert.ok(status < 500, what);
        assert.equal(text.includes(SECRET_TITLE), false, what);
        const members = headers.get('Content-Type')?.includes('problem') === true ? [] : JSON.parse(text || '{}');
        const told = JSON.stringify(members['hydra:member'] ?? members);
        for (const secret of Object.values(owned)) assert.equal(told.includes(secret), false, what);
      }
    }
  }
  assert.ok(asked > 25, `${asked} questions`);
});

function withQuery(path: string, query: readonly (readonly [string, string])[]): string {
  return query.length === 0
    ? path
    : `${path}?${new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString()}`;
}
