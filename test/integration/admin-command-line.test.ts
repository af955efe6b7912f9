/** `vigie admin` as people and scripts use it: its output, its error messages and its exit codes. */

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

test('a wrong command line exits with 2 and refers to the help', async () => {
  await fails(['statuss'], 2, /Unknown command statuss.*\nvigie admin --help/);
  await fails(['deliveries', 'show'], 2, /takes ID\.\nvigie admin deliveries show --help/);
  await fails(['deliveries', 'list', '--state', 'lost'], 2, /--state must be one of queued, /);
  await fails(['recoveries', 'start'], 2, /Name the client and the time with --client and --since/);
  await fails(['dead-letters', 'purge', '--force'], 2, /Set at least one of/);
  await fails(['explain', scene.search.id, 'nonsense'], 2, /property must be properties\/\{uuid\}/);
});

test('options of every command may precede its words or be between them', async () => {
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
    [to, /Name a command/],
    [['--json', 'statuss'], /Unknown command statuss/],
    [['--adress', 'x', 'status'], /Unknown command x|Unknown option '--adress'/],
  ] as const) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, words);
  }
});

test('the status shows the version of each instance', async () => {
  const { stdout } = await admin('status');
  assert.match(
    stdout,
    new RegExp(`^INSTANCE +HOST +VERSION +ROLES [^]*\\n\\S+ +\\S+:\\d+ +${VERSION} +intake,deliver`, 'm'),
  );
});

test('the status reports a killed instance as silent while it is still listed', async (t) => {
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

test('a missing object exits with 3, an impossible action with 6', async () => {
  await fails(['deliveries', 'show', UNKNOWN], 3, /^vigie: There is no deliveries/);
  await fails(['deliveries', 'resend', UNKNOWN], 3, /^vigie: There is no deliveries/);
  // Deliveries are paused, so that the first recovery cannot have ended when the second is requested.
  await admin('stages', 'pause', 'deliver');
  const start = ['recoveries', 'start', '--client', 'tests', '--since', '1h', '--delivered'];
  const planned = await admin(...start, '--dry-run');
  assert.match(planned.stdout, /^matched[a-z ]* +1$/im, planned.stderr);
  assert.doesNotMatch(planned.stdout, /unspecified/i);
  const { stdout } = await admin(...start, '--json');
  await fails(start, 6, /The client has a recovery that is not finished/);
  await admin('recoveries', 'stop', (JSON.parse(stdout) as { name: string }).name);
  await admin('stages', 'resume', 'deliver');
});

test('a wrong token exits with 4, an unreachable daemon with 5', async () => {
  const refused = await run(['status', '--address', scene.daemon.adminAddress], {
    VIGIE_ADMIN_TOKEN: 'not-the-token-of-the-daemon',
  });
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /refuses the token\. Check --token-file and VIGIE_ADMIN_TOKEN/);
  const nobody = await run(['status', '--address', '127.0.0.1:1']);
  assert.equal(nobody.code, 5);
  assert.match(
    nobody.stderr,
    /^vigie: No daemon answers at 127\.0\.0\.1:1 \(connect ECONNREFUSED 127\.0\.0\.1:1\)\. Start one, or correct --address\.\n$/,
  );
});

test('an explanation for people shows the criteria, the values, and how the match began', async () => {
  const matched = await admin('explain', scene.search.id, property);
  assert.match(matched.stdout, /^satisfied$/m);
  assert.match(matched.stdout, /yes {2}budget: .* fits\.\n +expected {2}\{"max":300000\}\n +actual {4}250000\n/);
  assert.match(matched.stdout, /^[0-9a-f-]{36} +property\.ad\.create +delivered +1 /m);
  assert.match(matched.stdout, /^began-with-advert: The property began to match the search on .*\.$/m);
});

test('the URL of an advert suffices to find its deliveries and to send them again', async () => {
  const url = `${portalUrlOf(property)}#photos`;
  const listed = await admin('deliveries', 'list', '--client', 'tests', '--url', url);
  const [id = ''] = /^[0-9a-f-]{36}/m.exec(listed.stdout) ?? [];
  assert.match(listed.stdout, new RegExp(`^${id} +tests +Toulon +delivered +1 +property\\.ad\\.create `, 'm'));
  const told = await admin('explain', '--client', 'tests', url);
  assert.match(told.stdout, /^satisfied searches +1\n/);
  const pair = `search +searches/${scene.search.id}\\nproperty +properties/${property}\\nmatch +/matches/`;
  assert.match(told.stdout, new RegExp(`^${pair}[0-9a-f-]{36}\\nsatisfied$`, 'm'));
  assert.equal((await admin('explain', scene.search.id, '--url', url)).code, 0);
  await fails(['explain'], 2, /Name a SEARCH, or a client with --client/);
  await fails(['explain', scene.search.id], 2, /Name the property with PROPERTY\|URL/);
  await fails(['explain', 'x', 'y', '--client', 'tests'], 2, /--client replaces SEARCH/);
  await fails(['deliveries', 'list', '--client', 'nobody'], 3, /There is no client with the name nobody/);

  assert.match((await admin('deliveries', 'resend', id)).stdout, new RegExp(`^${id} `, 'm'));
  await scene.receiver.until(() => scene.receiver.postsOf(id).length === 2);
  await until(
    async () => (await admin('deliveries', 'show', id)).stdout,
    (stdout) => /^state +delivered$/m.test(stdout),
  );
  await fails(['recoveries', 'start', '--since', '1h'], 2, /Name the client and the time with --client and --since/);
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

test('JSON names states as the filters do', async () => {
  // A script can pass a state that it reads back as a filter.
  const { deliveries } = JSON.parse((await admin('deliveries', 'list', '--state', 'delivered', '--json')).stdout);
  assert.deepEqual(new Set(deliveries.map(({ state }: { state: string }) => state)), new Set(['delivered']));
  const { stages } = JSON.parse((await admin('status', '--json')).stdout);
  for (const { state } of stages) assert.equal(state, 'running');
});

test('limits of a client are shown with its usage, changed, and reset', async () => {
  const id = (await admin('clients', 'create', 'Limitée', '--searches', '5')).stdout.trim();
  const shown = async () =>
    (await admin('clients', 'list')).stdout.split('\n').find((line) => line.startsWith(id)) ?? '';
  assert.match(await shown(), / Limitée( +default){4} +0 of 5 +0 of default +0 of default /);
  await admin('clients', 'set', id, '--searches', 'default', '--polygon-corners', '0');
  assert.match(await shown(), / 0 of default +0 of 0 +0 of default /);
  await fails(['clients', 'set', id], 2, /Set at least one of --per-second/);
  const { stdout: said } = await admin('clients', 'set', 'Limitée', '--notice-address', 'ops@client.example');
  assert.match(said, /No notices are sent until VIGIE_SMTP_URL names a mail server/);
  assert.match(await shown(), /ops@client\.example/);
  await admin('clients', 'set', 'Limitée', '--notice-address', '', '--public-name', 'Agence du port');
  assert.match(await shown(), / Agence du port /);
  assert.doesNotMatch(await shown(), /@/);
  await fails(['clients', 'set', id, '--searches', 'many'], 2, /--searches takes a whole number or the word default/);
});

test('a revoked key is refused as soon as the command has ended', async () => {
  const key = await createApiKey(scene.servers, 'Révoquée');
  const ask = async () => (await fetch(`${scene.daemon.apiUrl}/searches`, { headers: { 'X-API-KEY': key } })).status;
  assert.equal(await ask(), 200);
  const { stdout } = await runVigie(['keys', 'list'], scene.servers);
  const [, id = ''] = new RegExp(`Révoquée .*\\n +(\\S+) `).exec(stdout) ?? [];
  const { code, stderr } = await runVigie(['keys', 'revoke', id], scene.servers);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(await ask(), 401);
});

test('names and limits have maximum values, which the error states', async () => {
  const tooLong = await runVigie(['keys', 'create', '--client', 'x'.repeat(201)], scene.servers);
  assert.deepEqual([tooLong.code, tooLong.stderr], [1, 'vigie: --client takes 1 to 200 characters.\n']);
  await fails(
    ['clients', 'create', 'x', '--searches', '99999999999'],
    2,
    /--searches takes a whole number or the word default/,
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

test('texts of crawlers and clients never control the terminal', async (t) => {
  // The first character of a control sequence. It is beyond ASCII, and JSON does not escape such characters.
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
  assert.match(fact.stdout, /^title +Vue mer state {2}delivered$/m, 'each fact is on one line');
  for (const { code, stdout } of shown) {
    assert.equal(code, 0);
    // oxlint-disable-next-line eslint/no-control-regex -- the test looks for control characters
    assert.doesNotMatch(stdout, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  }
});
