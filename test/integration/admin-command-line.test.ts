/** `vigie admin` as people and scripts use it: what it says when something is wrong, and with which exit code. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { VERSION } from '../../src/version.ts';
import { type CommandResult, createApiKey, runVigie, type Settings } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid } from '../support/intake.ts';
import { portalUrlOf, startScene } from '../support/operator-scene.ts';
import { restClient } from '../support/rest-client.ts';
import { lastFirst } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const cleanup = lastFirst({ after });

const scene = await startScene(cleanup);
const [property = ''] = await scene.publishAdverts(1);
const database = connectDatabase(cleanup, scene.servers.postgres.url);
await untilIs(async () => (await database.query(`select from delivery_states where state = 'delivered'`)).rowCount, 1);

function run(args: readonly string[], settings: Settings = {}): Promise<CommandResult> {
  return runVigie(['admin', ...args], scene.servers, { settings });
}

function admin(...args: string[]): Promise<CommandResult> {
  return run([...args, '--address', scene.daemon.adminAddress]);
}

async function fails(args: readonly string[], exitCode: number, words: RegExp): Promise<void> {
  const { code, stdout, stderr } = await admin(...args);
  assert.match(stderr, words);
  assert.deepEqual([code, stdout], [exitCode, '']);
}

test('a wrong command line is 2, and says where to look', async () => {
  await fails(['statuss'], 2, /unknown command statuss\nvigie admin --help/);
  await fails(['deliveries', 'show'], 2, /takes ID\nvigie admin deliveries show --help/);
  await fails(['deliveries', 'list', '--state', 'lost'], 2, /--state lost is no known state/);
  await fails(['recoveries', 'start'], 2, /say whose and since when: --client, --since/);
  await fails(['dead-letters', 'purge', '--force'], 2, /say which ones/);
  await fails(['explain', scene.search.id, 'nonsense'], 2, /property must be properties\/\{uuid\}/);
});

test('options of every command may stand before its words, and between them', async () => {
  const to = ['--address', scene.daemon.adminAddress];
  for (const args of [
    [...to, '--json', 'status'],
    ['--json', 'status', ...to],
    [...to, 'deliveries', '--json', 'list'],
    ['--json', 'explain', ...to, '--', scene.search.id, property],
  ]) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    assert.equal(typeof JSON.parse(stdout), 'object');
  }
  const help = await run(['--help', 'status']);
  assert.match(help.stdout, /^vigie admin status\n/);
  for (const [args, words] of [
    [to, /say what to do/],
    [['--json', 'statuss'], /unknown command statuss/],
    [['--adress', 'x', 'status'], /unknown command x|Unknown option '--adress'/],
  ] as const) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, words);
  }
});

test('the status says which version each instance is', async () => {
  const { stdout } = await admin('status');
  assert.match(
    stdout,
    new RegExp(`^INSTANCE +HOST +VERSION +ROLES [^]*\\n\\S+ +\\S+:\\d+ +${VERSION} +intake,deliver`, 'm'),
  );
});

test('the status says which instance is silent, as long as one that was killed is listed', async (t) => {
  const database = connectDatabase(t, scene.servers.postgres.url);
  const die = () =>
    database.query(
      `insert into instances
       select gen_random_uuid(), 'killed', process_id, roles, version, newest_migration, started_at,
         clock_timestamp() - interval '5 seconds', stages, search_index, failing from instances limit 1`,
    );
  const { stdout } = await until(
    async () => {
      await die();
      return admin('status');
    },
    (answer) => answer.stdout.includes('killed:'),
  );
  assert.match(stdout, /^INSTANCE .* SILENT /m);
  assert.match(stdout, /killed:\d+ .* for \d+ s/);
});

test('what is not there is 3, what is not possible 6', async () => {
  await fails(['deliveries', 'show', UNKNOWN], 3, /not found: there is no deliveries/);
  await fails(['deliveries', 'resend', UNKNOWN], 3, /not found: there is no deliveries/);
  // Paused, it cannot have ended before the second one is asked for.
  await admin('stages', 'pause', 'deliver');
  const start = ['recoveries', 'start', '--client', 'tests', '--since', '1h', '--delivered'];
  const planned = await admin(...start, '--dry-run');
  assert.match(planned.stdout, /^matched[a-z ]* +1$/im, planned.stderr);
  assert.doesNotMatch(planned.stdout, /unspecified/i);
  const { stdout } = await admin(...start, '--json');
  await fails(start, 6, /the client has a recovery that is not finished/);
  await admin('recoveries', 'stop', (JSON.parse(stdout) as { name: string }).name);
  await admin('stages', 'resume', 'deliver');
});

test('a wrong token is 4, no daemon is 5', async () => {
  const refused = await run(['status', '--address', scene.daemon.adminAddress], {
    VIGIE_ADMIN_TOKEN: 'not-the-token-of-the-daemon',
  });
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /refuses the token: see --token-file and VIGIE_ADMIN_TOKEN/);
  const nobody = await run(['status', '--address', '127.0.0.1:1']);
  assert.equal(nobody.code, 5);
  assert.match(nobody.stderr, /^vigie: no daemon answers at 127\.0\.0\.1:1: connect ECONNREFUSED 127\.0\.0\.1:1\n$/);
});

test('an explanation for people shows what was asked and found, and how the match began', async () => {
  const matched = await admin('explain', scene.search.id, property);
  assert.match(matched.stdout, /^satisfied$/m);
  assert.match(matched.stdout, /yes {2}budget: .* fits\.\n +asked {2}\{"max":300000\}\n +found {2}250000\n/);
  assert.match(matched.stdout, /^[0-9a-f-]{36} +property\.ad\.create +delivered +1 /m);
  assert.match(matched.stdout, /^began-with-advert: The property began to match the search on .*\.$/m);
});

test('what a client says of itself is enough to find what it was sent, and to send it again', async () => {
  const url = `${portalUrlOf(property)}#photos`;
  const listed = await admin('deliveries', 'list', '--client', 'tests', '--url', url);
  const [id = ''] = /^[0-9a-f-]{36}/m.exec(listed.stdout) ?? [];
  assert.match(listed.stdout, new RegExp(`^${id} +tests +Toulon +delivered +1 +property\\.ad\\.create `, 'm'));
  const told = await admin('explain', '--client', 'tests', url);
  assert.match(told.stdout, /^searches that it satisfies +1\n/);
  const pair = `search +searches/${scene.search.id}\\nproperty +properties/${property}\\nmatch +/matches/`;
  assert.match(told.stdout, new RegExp(`^${pair}[0-9a-f-]{36}\\nsatisfied$`, 'm'));
  assert.equal((await admin('explain', scene.search.id, '--url', url)).code, 0);
  await fails(['explain'], 2, /name a SEARCH, or a client by --client/);
  await fails(['explain', scene.search.id], 2, /name the property: PROPERTY\|URL/);
  await fails(['explain', 'x', 'y', '--client', 'tests'], 2, /--client stands in the place of SEARCH/);
  await fails(['deliveries', 'list', '--client', 'nobody'], 3, /there is no client that is called nobody/);

  assert.match((await admin('deliveries', 'resend', id)).stdout, new RegExp(`^${id} `, 'm'));
  await scene.receiver.until(() => scene.receiver.postsOf(id).length === 2);
  await until(
    async () => (await admin('deliveries', 'show', id)).stdout,
    (stdout) => /^state +delivered$/m.test(stdout),
  );
  await fails(['recoveries', 'start', '--since', '1h'], 2, /say whose and since when: --client, --since/);
  const start = ['recoveries', 'start', '--client', 'tests', '--since', '1h', '--delivered'];
  const done = await admin(...start, '--watch');
  assert.match(
    done.stdout,
    /^state +finished\nmatched count +1\nsent count +1\ndelivered count +1\nfailed count +0\n/m,
  );
  assert.equal(scene.receiver.postsOf(id).length, 3);
  const [recovery = ''] = /[0-9a-f-]{36}/.exec(done.stdout) ?? [];
  assert.match(
    (await admin('recoveries', 'list', '--client', 'tests')).stdout,
    new RegExp(`^${recovery} +finished`, 'm'),
  );
  for (const verb of ['show', 'stop']) {
    assert.match((await admin('recoveries', verb, recovery)).stdout, /^state +finished$/m, verb);
  }
});

test('JSON has the states as they are asked for', async () => {
  // What a script reads it can ask with.
  const { deliveries } = JSON.parse((await admin('deliveries', 'list', '--state', 'delivered', '--json')).stdout);
  assert.deepEqual(new Set(deliveries.map(({ state }: { state: string }) => state)), new Set(['delivered']));
  const { stages } = JSON.parse((await admin('status', '--json')).stdout);
  for (const { state } of stages) assert.equal(state, 'running');
});

test('limits of a client are shown with what it has, changed, and undone', async () => {
  const id = (await admin('clients', 'create', 'Limitée', '--searches', '5')).stdout.trim();
  const shown = async () =>
    (await admin('clients', 'list')).stdout.split('\n').find((line) => line.startsWith(id)) ?? '';
  assert.match(await shown(), / Limitée( +default){4} +0 of 5 +0 of default +0 of default /);
  await admin('clients', 'set', id, '--searches', 'default', '--polygon-corners', '0');
  assert.match(await shown(), / 0 of default +0 of 0 +0 of default /);
  await fails(['clients', 'set', id], 2, /say which ones: --per-second/);
  const { stdout: said } = await admin('clients', 'set', 'Limitée', '--notice-address', 'ops@client.example');
  assert.match(said, /nothing is sent to it until VIGIE_SMTP_URL names a mail server/);
  assert.match(await shown(), /ops@client\.example/);
  await admin('clients', 'set', 'Limitée', '--notice-address', '');
  assert.doesNotMatch(await shown(), /@/);
  await fails(['clients', 'set', id, '--searches', 'many'], 2, /--searches takes a whole number, or default/);
});

test('a revoked key is refused by the time that the command ends', async () => {
  const key = await createApiKey(scene.servers, 'Révoquée');
  const ask = async () => (await fetch(`${scene.daemon.apiUrl}/searches`, { headers: { 'X-API-KEY': key } })).status;
  assert.equal(await ask(), 200);
  const { stdout } = await runVigie(['keys', 'list'], scene.servers);
  const [, id = ''] = new RegExp(`Révoquée .*\\n +(\\S+) `).exec(stdout) ?? [];
  const { code, stderr } = await runVigie(['keys', 'revoke', id], scene.servers);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(await ask(), 401);
});

test('names and limits are bounded, and the bound is told', async () => {
  const tooLong = await runVigie(['keys', 'create', '--client', 'x'.repeat(201)], scene.servers);
  assert.deepEqual([tooLong.code, tooLong.stderr], [1, 'vigie: --client takes 1 to 200 characters\n']);
  await fails(
    ['clients', 'create', 'x', '--searches', '99999999999'],
    2,
    /--searches takes a whole number, or default/,
  );
  await fails(['clients', 'create', 'x', '--burst', '0'], 2, /rate_limit_burst must be an integer from 1 to 1000000/);
});

test('headers of a dead letter are shown by their names', async () => {
  await scene.publishPoison();
  const [letter] = await until(
    async () =>
      (JSON.parse((await admin('dead-letters', 'list', '--json')).stdout).deadLetters ?? []) as { name: string }[],
    ({ length }) => length > 0,
  );
  const { stdout } = await admin('dead-letters', 'show', letter?.name ?? '');
  assert.match(stdout, /^nats-msg-id +\S+$/im);
});

test('texts of crawlers and clients do not control the terminal, whatever shows them', async (t) => {
  // The first character of a control sequence: of those beyond ASCII, JSON escapes none.
  const control = '\u009b';
  const crawler = await connectCrawler(t, scene.servers.nats.url);
  const { id } = await restClient(scene.daemon, scene.key).createSearch({
    title: 'Vue mer\nstate  delivered',
    expressions: [{ word: `vue ${control}2J mer` }],
  });
  const message = {
    kind: 'upsert',
    crawledAt: new Date().toISOString(),
    property: { uuid: numberedUuid('property', 1), transactionType: 0, propertyType: 0 },
    advert: { uuid: numberedUuid('advert', 1), title: `Appartement ${control}2J`, price: 200_000, surface: 50 },
  };
  await crawler.publish(
    message,
    { kind: 'upsert', note: `${control}2J`, property: { uuid: '\u001b[2J' } },
    '\u001b[2J',
  );
  const { deadLetters } = await until(
    async () =>
      JSON.parse((await admin('dead-letters', 'list', '--json')).stdout) as { deadLetters: { name: string }[] },
    (seen) => seen.deadLetters.length >= 2,
  );
  const { deliveries } = await until(
    async () =>
      JSON.parse((await admin('deliveries', 'list', '--property', message.property.uuid, '--json')).stdout) as {
        deliveries: { name: string }[];
      },
    (seen) => seen.deliveries.length > 0,
  );
  const fact = await admin('index', 'search', id);
  const shown = [
    fact,
    ...(await Promise.all(deadLetters.map(({ name }) => admin('dead-letters', 'show', name)))),
    await admin('deliveries', 'show', deliveries[0]?.name ?? '', '--body'),
    await admin('explain', id, message.property.uuid),
  ];
  assert.match(fact.stdout, /^title +Vue mer state {2}delivered$/m, 'one fact is one line');
  for (const { code, stdout } of shown) {
    assert.equal(code, 0);
    // oxlint-disable-next-line eslint/no-control-regex -- exactly those
    assert.doesNotMatch(stdout, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  }
});
