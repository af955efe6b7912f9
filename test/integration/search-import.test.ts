/** `vigie import searches` on a real PostgreSQL. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runVigie } from '../support/daemon.ts';
import { startTestServers, temporaryDirectory } from '../support/servers.ts';
import { startHere } from '../support/service.ts';

const SEARCHES = [
  { title: 'Toulon', includedCities: ['/cities/83137'], budgetMax: 300_000, transactionType: 0, context: { a: [1] } },
  { title: 'Twice', surfaceMin: 40, propertyTypes: [0, 1] },
  { title: 'Twice', surfaceMin: 40, propertyTypes: [0, 1] },
  {
    title: 'Either',
    ...{ excludedZipcodes: ['83000'], excludedPublishers: ['Foncia'], marketDifferenceMax: -10 },
    alternatives: [{ includedCities: ['/cities/83137'] }, { pointsOfInterest: [{ facility: 'school', within: 0.5 }] }],
  },
  { title: 'Endpoint', roomMin: 2, notificationEnabled: true, endpointRecipient: 'https://client.example/hook' },
];

test('searches answered by GET /searches are imported into another client, once', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers);
  const keyOf = async (client: string) =>
    (await runVigie(['keys', 'create', '--client', client], servers)).stdout.trim();
  const ask = async (key: string, path: string, body?: object) => {
    const headers = { 'X-API-KEY': key, 'Content-Type': 'application/json' };
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await fetch(`${daemon.apiUrl}${path}`, {
      ...{ method, headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.ok(answer.ok, `${path} ${answer.status}`);
    return (await answer.json()) as { 'hydra:member': Record<string, unknown>[] };
  };
  const plain = (document: Record<string, unknown>) => {
    const own = ['@id', 'token', 'user', 'createdAt', 'updatedAt', 'lastAlertAt'];
    return JSON.stringify(Object.entries(document).filter(([name]) => !own.includes(name)));
  };
  const first = await keyOf('first');
  for (const search of SEARCHES) await ask(first, '/searches', search);
  const pages = [await ask(first, '/searches?itemsPerPage=3'), await ask(first, '/searches?itemsPerPage=3&page=2')];
  const file = join(await temporaryDirectory('search-import'), 'searches.ndjson');
  await writeFile(file, pages.map((page) => JSON.stringify(page)).join('\n'));

  const command = ['import', 'searches', file, '--client', 'second'];
  const imported = await runVigie(command, servers);
  assert.deepEqual(imported, {
    code: 0,
    stdout: 'second: 5 searches created, 0 already existed, 0 refused.\n',
    stderr: '',
  });
  const again = await runVigie(command, servers);
  assert.equal(again.stdout, 'second: 0 searches created, 5 already existed, 0 refused.\n');
  const [source, target] = [await ask(first, '/searches'), await ask(await keyOf('second'), '/searches')];
  assert.deepEqual(target['hydra:member'].map(plain), source['hydra:member'].map(plain));

  const foreign = [
    {
      title: 'More',
      budgetMin: 5,
      endpointRecipient: 'ftp://client.example/x',
      subscribedEvents: ['no'],
    },
    { title: 'Nowhere', includedCities: ['/cities/999999999'] },
    { title: 'Blue', budgetMin: 5, colour: 'blue' },
    { title: 'Words', expressions: [{ word: 'balcon', whole: true }] },
  ];
  await writeFile(file, JSON.stringify({ 'hydra:member': foreign }));
  const partly = await runVigie(command, servers);
  assert.equal(partly.code, 2);
  assert.match(
    partly.stdout,
    /^Refused: Blue: colour is not a member of a search.* To create the search without it, add --ignore colour\.$/m,
  );
  assert.match(partly.stdout, /^Refused: Words: expressions\S+ is not a member of an entry.*$/m);
  assert.doesNotMatch(partly.stdout, /ignore expressions/);
  assert.match(partly.stdout, /^Left out: More: endpointRecipient must be/m);
  assert.match(partly.stdout, /^Left out: More: subscribedEvents/m);
  assert.match(
    partly.stdout,
    /^Refused: Nowhere: includedCities\[0\] does not exist; GET \/cities lists the existing ones\.$/m,
  );
  assert.match(partly.stdout, /^second: 1 searches created, 0 already existed, 3 refused\.$/m);
  for (const [ignore, counts] of [
    ['budgetMin,includedCities,color,expressions', '0 searches created, 1 already existed, 3 refused'],
    ['shade,colour', '1 searches created, 1 already existed, 2 refused'],
  ] as const) {
    const { stdout } = await runVigie([...command, '--ignore', ignore], servers);
    assert.match(stdout, new RegExp(`^second: ${counts}\\.$`, 'm'));
  }

  const levels = ['maternelle', 'élémentaire', 'primaire', 'collège', 'lycée'];
  const pointsOfInterest = ['kindergarten', 'school'].flatMap((facility) =>
    levels.map((schoolType) => ({ facility, attributes: { schoolType }, within: 1 })),
  );
  await writeFile(file, JSON.stringify({ title: 'Schools', pointsOfInterest }));
  const { stdout: crowded } = await runVigie(command, servers);
  assert.match(crowded, /^Refused: Schools: pointsOfInterest\[7\]: would make more than 8 combinations/m);

  // A search without criteria matches every advert, and the client has a limit of matches per advert.
  const few = ['admin', 'clients', 'create', 'few', '--matches-per-advert', '2', '--address', daemon.adminAddress];
  assert.equal((await runVigie(few, servers)).code, 0);
  await writeFile(file, JSON.stringify(['A', 'B', 'C', 'D'].map((title) => ({ title }))));
  const limited = await runVigie(['import', 'searches', file, '--client', 'few'], servers);
  assert.equal(limited.code, 2);
  assert.match(limited.stdout, /^Refused: D: .*\b2\b/m);
  assert.match(
    limited.stdout,
    /^few: 2 searches created, 0 already existed, 2 refused\.\nThe new searches add an estimated 2 matches per advert in total\.$/m,
  );

  await writeFile(file, '{"a":1}');
  const none = await runVigie(command, servers);
  assert.deepEqual([none.code, none.stdout], [1, '']);
});
