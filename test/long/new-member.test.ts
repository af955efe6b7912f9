/** If a release adds a member to the intake contract, stored adverts do not change when they are crawled again. */

import assert from 'node:assert/strict';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/checkout.ts';
import { startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid } from '../support/intake.ts';
import { startTestServers, temporaryDirectory } from '../support/servers.ts';
import { RECOVERY_MAX_MS, untilIs } from '../support/until.ts';

const PROPERTIES = 10;

/** Replacements by file, from this release's text to the next release's. */
const ADDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'intake-schema.ts': {
    '  condominiumFees: amount,\n': '  condominiumFees: amount,\n  newFees: amount,\n  newList: texts,\n',
    '  bedroom: count,\n': '  bedroom: count,\n  newCount: count,\n',
    'reference: text }': 'reference: text, newPhone: text }',
    'color: text,': 'color: text, newColor: text,',
  },
  'intake-message.ts': {
    '    features: sent.features ?? [],\n': '    features: sent.features ?? [],\n    newList: sent.newList ?? [],\n',
  },
  'stored-property.ts': {
    "  picturesRemote: 'list',\n": "  picturesRemote: 'list',\n  newFees: 'value',\n  newList: 'list',\n",
    'lines: [LINE] })],\n': "lines: [LINE] })],\n  newCount: 'value',\n",
    "    fax: 'value',\n": "    fax: 'value',\n    newPhone: 'value',\n",
    "routeName: 'value' }": "routeName: 'value', newColor: 'value' }",
  },
};

/** A copy of the program with the additional members. */
async function nextRelease(): Promise<string> {
  const root = await temporaryDirectory('release');
  await cp(join(ROOT, 'src'), join(root, 'src'), { recursive: true });
  for (const name of ['node_modules', 'package.json', 'config', 'proto'])
    await symlink(join(ROOT, name), join(root, name));
  for (const [name, added] of Object.entries(ADDED)) {
    const file = join(root, 'src', 'engine', 'domain', name);
    let text = await readFile(file, 'utf8');
    for (const [today, next] of Object.entries(added)) {
      assert.equal(text.split(today).length, 2, `${today} occurs once in ${name}`);
      text = text.replace(today, next);
    }
    await writeFile(file, text);
  }
  return root;
}

const crawled = (number: number, minute: number, advert: object = {}) => ({
  kind: 'upsert',
  crawledAt: `2026-03-10T08:0${minute}:00.000Z`,
  property: {
    uuid: numberedUuid('property', number),
    transactionType: 0,
    propertyType: 0,
    city: { insee: '83137' },
    stations: [{ id: 1, name: 'Gare', lines: [{ id: 1, name: 'A', number: '1', color: 'red', routeName: null }] }],
  },
  advert: {
    uuid: numberedUuid('advert', number),
    title: 'Appartement',
    price: 250_000,
    surface: 50,
    contact: { agency: 'A', phone: '1' },
    ...advert,
  },
});

test('the next release, which knows more members, reports no event if a stored advert is crawled again unchanged', async (t) => {
  const servers = await startTestServers(t);
  const today = await startDaemon(t, servers);
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  const publish = (minute: number, advert?: object) =>
    crawler.publish(...Array.from({ length: PROPERTIES }, (_, number) => crawled(number, minute, advert)));
  const kindsAfter = async (minute: number): Promise<readonly string[]> => {
    const untilSeen = `select count(*)::integer as count from properties, json_each_text(crawls) where value like '%T08:0${minute}:00%'`;
    await untilIs(
      async () => (await database.query<{ count: number }>(untilSeen)).rows[0]?.count,
      PROPERTIES,
      RECOVERY_MAX_MS,
    );
    const { rows } = await database.query<{ kind: string }>('select distinct kind from events order by kind');
    return rows.map(({ kind }) => kind);
  };
  await publish(1);
  assert.deepEqual(await kindsAfter(1), ['property.ad.create']);
  assert.equal(await today.end('SIGTERM'), 0);
  const next = await startDaemon(t, servers, {}, { root: await nextRelease() });
  await publish(2);
  assert.deepEqual(await kindsAfter(2), ['property.ad.create']);
  await publish(3, { newFees: 100 });
  assert.deepEqual(
    await kindsAfter(3),
    ['property.ad.create', 'property.ad.update'],
    'the value of a new member is a change',
  );
  await database.query('delete from events');
  await publish(4, { newFees: 100 });
  assert.deepEqual(await kindsAfter(4), [], 'the value of the new member is stored');
  assert.equal(await next.end('SIGTERM'), 0);
  // The operator returns to the former release.
  const back = await startDaemon(t, servers);
  await publish(5, { newFees: 200 });
  assert.deepEqual(await kindsAfter(5), []);
  assert.equal(await back.end('SIGTERM'), 0);
});
