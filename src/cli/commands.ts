/** The table of commands. The module of a command is loaded when the command is typed. */

import { type CommandGroup, flag, type Input, UsageError, valued } from './command.ts';
import type { CommandTable } from './program.ts';

/** `osmium export` needs an intermediate file instead of a pipe, because it reads its input twice. */
const OSMIUM =
  'osmium tags-filter -o amenities.osm.pbf france.osm.pbf nwr/amenity && ' +
  'osmium export -f geojsonseq --geometry-types=point,polygon amenities.osm.pbf | ' +
  'vigie import points-of-interest --source france -';

const OF_CLIENT = valued('NAME', 'only for this client; default: all');

const settings = async () => (await import('../config.ts')).readConfig();
const interruption = async () => (await import('./terminal.ts')).interruptSignal();

const ADMIN: CommandGroup = {
  words: 'admin',
  summary: 'inspect and operate a running daemon',
  optionsTitle: 'Connection (with every command)',
  options: {
    address: valued('HOST:PORT', 'the daemon; the default is VIGIE_ADMIN_ADDRESS'),
    'token-file': valued(
      'FILE',
      'file with the bearer token; the default is VIGIE_ADMIN_TOKEN, then the token in the data directory',
    ),
    ca: valued('FILE', 'use TLS, and trust these authorities (PEM)'),
    cert: valued('FILE', 'use this client certificate (PEM), with --key'),
    key: valued('FILE', 'the key of the client certificate'),
    timeout: valued('SECONDS', 'time limit; default: 30 s, or ten minutes for long work'),
    json: flag('print the answer as JSON, for scripts'),
  },
  notes: `Exit codes
  0 done             1 failed                       2 wrong command line or argument   3 not found
  4 token refused    5 no daemon, or one without    6 not possible in this state       7 not done in time
  130 interrupted      its PostgreSQL or NATS`,
  load: async () => (await import('./admin/commands.ts')).ADMIN_COMMANDS,
};

export const COMMANDS: CommandTable = {
  commands: [
    {
      words: 'serve',
      summary: 'run the daemon',
      details: 'SIGTERM and Ctrl-C drain the daemon. A second signal ends it immediately.',
      example: 'VIGIE_ALLOW_PRIVATE_ENDPOINTS=true vigie serve',
      run: async () => (await import('./serve.ts')).serve(await settings()),
    },
    {
      words: 'demo',
      summary: 'run Vigie on recorded adverts, with a webhook receiver that shows the deliveries',
      options: {
        seconds: valued('N', 'end N seconds after the first advert; default: at Ctrl-C'),
        feed: valued('PATH', 'use your adverts instead of the recorded ones, with --format'),
        format: valued('NAME', 'poliris or mapping'),
        mapping: valued('PATH', 'the mapping, for the format mapping'),
      },
      example: 'vigie demo --seconds 60',
      async run({ count, text }) {
        const { runDemo } = await import('./demo/demo.ts');
        const path = text('feed');
        const open = (await import('../features.ts')).FEATURES.find(({ openAdverts }) => openAdverts)?.openAdverts;
        const publish = path === '' ? undefined : await open?.(text('format'), text('mapping'));
        await runDemo({
          seconds: count('seconds'),
          feed: publish === undefined ? null : { path, publish },
        });
      },
    },
    {
      words: 'doctor',
      summary: 'check the service, its servers and its settings, and recommend remedies',
      details:
        'The doctor changes nothing. `unknown` means that a check is not possible from here. The exit code is 1 if ' +
        'anything is wrong.',
      options: { json: flag('print the findings as JSON, for scripts') },
      example: 'vigie doctor',
      run: async ({ isJson }) => (await import('./doctor/doctor.ts')).doctor(isJson),
    },
    {
      words: 'backup',
      args: 'FILE',
      summary: 'copy the embedded PostgreSQL database to the compressed FILE, even while the service runs',
      details: 'FILE appears when it is complete. Only its owner may read FILE, because it contains all client data.',
      example: 'vigie backup /srv/backups/vigie-$(date +%u).tar.gz',
      async run({ args: [file = ''] }) {
        const { backUp } = await import('./backup.ts');
        await backUp(await settings(), file, await interruption());
      },
    },
    {
      words: 'restore',
      args: 'FILE',
      summary: 'replace the embedded database with a backup, while the service is stopped',
      details: 'The former database is kept. Adverts since the backup that NATS still has are recorded again.',
      example: 'vigie restore /srv/backups/vigie-1.tar.gz',
      async run({ args: [file = ''] }) {
        const { restore } = await import('./backup.ts');
        await restore(await settings(), file);
      },
    },
    {
      words: 'publish',
      args: '[FILE]',
      summary: 'publish intake messages, one JSON object per line, from FILE or standard input',
      details: 'Publishing a file twice changes nothing: NATS drops repeated lines, and after two minutes Vigie does.',
      options: { strict: flag('refuse lines with members that the contract does not define') },
      example: 'vigie publish --strict adverts.ndjson',
      async run({ args: [file = null], flag: isSet }) {
        const { publishFile } = await import('./publish.ts');
        await publishFile(await settings(), file, isSet('strict'), await interruption());
      },
    },
    {
      words: 'feed',
      args: 'NAME [FILE]',
      summary: 'read the adverts of an agency’s FILE: publish new and changed ones, expire missing ones',
      details:
        'NAME identifies the source, and is the same for all its files. A suspicious file (such as a truncated one) ' +
        'changes nothing. The exit code is 2 if rows could not be read, or if many adverts have lost a member.',
      options: {
        format: valued('NAME', 'poliris (Annonces.csv, or a ZIP with it) or mapping'),
        mapping: valued('PATH', 'the mapping of a CSV, NDJSON, JSON or XML file'),
        all: flag('also publish unchanged adverts'),
        force: flag('accept a file that would be refused'),
        end: flag('without FILE: expire all adverts of the source'),
        'dry-run': flag('show what would change, and change nothing'),
      },
      example: 'vigie feed saint-raphael --format poliris Annonces.zip',
      run: (input) => runOfFeature('feed', input),
    },
    {
      words: 'nats',
      summary: 'print the URL of NATS, with user and password, for crawlers',
      details: 'With this URL a crawler can only publish adverts and read rejections.',
      options: { operator: flag('print the daemon’s URL, which has all rights on the streams') },
      example: 'NATS_URL=$(vigie nats) node crawler.js',
      async run({ flag: isSet }) {
        const { crawlerUrlOf, natsUrlOf } = await import('./connect.ts');
        const { print } = await import('./terminal.ts');
        print(await (isSet('operator') ? natsUrlOf : crawlerUrlOf)(await settings()));
      },
    },
    {
      words: 'keys create',
      summary: 'create an API key, and its client if it does not exist',
      options: {
        client: valued('NAME', 'the client; required'),
        name: valued('NAME', 'the name of the key; default: `default`'),
      },
      details: 'Standard output contains only the key, which cannot be shown again.',
      example: 'KEY=$(vigie keys create --client acme)',
      async run({ text }) {
        if (text('client').trim() === '') throw new UsageError('keys create needs --client NAME.');
        const { createKey } = await import('./keys.ts');
        await createKey(await settings(), text('client'), text('name') || 'default');
      },
    },
    {
      words: 'keys list',
      summary: 'list clients and keys',
      example: 'vigie keys list',
      run: async () => (await import('./keys.ts')).listKeys(await settings()),
    },
    {
      words: 'keys revoke',
      args: 'ID',
      summary: 'revoke a key',
      example: 'vigie keys revoke 0198c5d2-7a51-7c3e-9b1d-3f2a86c1e0b4',
      run: async ({ args: [id = ''] }) => (await import('./keys.ts')).revokeKey(await settings(), id),
    },
    {
      words: 'import points-of-interest',
      args: 'FILE',
      summary: 'import points of interest such as schools; replaces all points of the source, or none',
      details: `FILE may be - for standard input, with --source. For OpenStreetMap data, use osmium-tool: ${OSMIUM}`,
      options: {
        source: valued('NAME', 'the source of the points; default: the file name without extensions'),
        format: valued('NAME', 'geojson, geojson-seq or annuaire-education; default: by the first bytes'),
      },
      example: 'vigie import points-of-interest monaco.geojson',
      async run({ args: [path = ''], text }) {
        if (path === '-' && text('source') === '')
          throw new UsageError('import points-of-interest - needs --source NAME.');
        const { withDatabase } = await import('./connect.ts');
        const { importPointFile } = await import('./import/import.ts');
        const stopping = await interruption();
        const options = { source: text('source'), format: text('format') };
        await withDatabase(await settings(), (database) => importPointFile(database, path, options, stopping));
      },
    },
    {
      words: 'import searches',
      args: 'FILE',
      summary: 'create the searches that another service lists at GET /searches; a repeated import changes nothing',
      details:
        'FILE contains JSON: one answer, a list of answers, or one per line. Invalid members that do not affect ' +
        'what a search finds (such as an endpoint) are omitted and reported. A search with any other unknown or ' +
        'invalid member is refused. The exit code is 2 if anything was reported.',
      options: {
        client: valued('NAME', 'the client; required'),
        ignore: valued('MEMBERS', 'unknown members to omit, separated by commas'),
      },
      example: 'vigie import searches --client acme searches.json',
      async run({ args: [path = ''], text }) {
        if (text('client').trim() === '') throw new UsageError('import searches needs --client NAME.');
        const { notifyDaemons, withDatabase } = await import('./connect.ts');
        const { importSearches } = await import('./import/searches.ts');
        const config = await settings();
        const stopping = await interruption();
        await withDatabase(config, (database) =>
          importSearches(database, path, text('client').trim(), config, text('ignore').split(','), stopping),
        );
        await notifyDaemons(config, 'searches');
      },
    },
    {
      words: 'recipients show',
      args: 'ADDRESS',
      summary: 'show the data about a recipient: searches, consent, objections, e-mails with their outcomes',
      options: { client: OF_CLIENT },
      example: 'vigie recipients show jo@example.org',
      run: (input) => runOfFeature('recipients show', input),
    },
    {
      words: 'recipients export',
      args: 'ADDRESS',
      summary: 'print the data about a recipient as one JSON document',
      options: { client: OF_CLIENT },
      example: 'vigie recipients export jo@example.org > jo.json',
      run: (input) => runOfFeature('recipients export', input),
    },
    {
      words: 'recipients erase',
      args: 'ADDRESS',
      summary: 'erase an address everywhere, and send it nothing more without a new consent',
      details:
        'The objection is kept as a salted hash. An e-mail that is already being sent is the last. The command may ' +
        'be repeated. Webhooks of the searches continue.',
      options: { client: OF_CLIENT },
      example: 'vigie recipients erase jo@example.org --client acme',
      run: (input) => runOfFeature('recipients erase', input),
    },
  ],
  groups: [ADMIN],
};

/** Loads the features only when a command needs them, because loading them would slow down all other commands. */
async function runOfFeature(words: string, input: Input): Promise<void> {
  const { FEATURES } = await import('../features.ts');
  const run = FEATURES.map(({ commands }) => commands?.[words]).find((found) => found !== undefined);
  if (run === undefined) throw new UsageError(`This program was built without the command ${words}.`);
  await run(input);
}
