/** The table of commands. A command's module is loaded when the command is typed. */

import { type CommandGroup, flag, type Input, UsageError, valued } from './command.ts';
import type { CommandTable } from './program.ts';

/** `osmium export` reads its file twice, so its input cannot be a pipe. */
const OSMIUM =
  'osmium tags-filter -o amenities.osm.pbf france.osm.pbf nwr/amenity && ' +
  'osmium export -f geojsonseq --geometry-types=point,polygon amenities.osm.pbf | ' +
  'vigie import points-of-interest --source france -';

const OF_CLIENT = valued('NAME', 'of this client alone; of all without it');

const settings = async () => (await import('../config.ts')).readConfig();
const interruption = async () => (await import('./terminal.ts')).interruptSignal();

const ADMIN: CommandGroup = {
  words: 'admin',
  summary: 'what operators can do to a running daemon',
  optionsTitle: 'Connection (with every command)',
  options: {
    address: valued('HOST:PORT', 'the daemon; the default is VIGIE_ADMIN_ADDRESS'),
    'token-file': valued(
      'FILE',
      'the bearer token; the default is VIGIE_ADMIN_TOKEN, then the daemon’s data directory',
    ),
    ca: valued('FILE', 'speak TLS, and trust these authorities (PEM)'),
    cert: valued('FILE', 'show this client certificate (PEM), with --key'),
    key: valued('FILE', 'its key'),
    timeout: valued(
      'SECONDS',
      'give up after this long; without it the daemon does after 30 s, ten minutes for long work',
    ),
    json: flag('the answer as JSON, for scripts'),
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
      details: 'SIGTERM and Ctrl-C drain it; a second one does not wait.',
      example: 'VIGIE_ALLOW_PRIVATE_ENDPOINTS=true vigie serve',
      run: async () => (await import('./serve.ts')).serve(await settings()),
    },
    {
      words: 'demo',
      summary: 'run it on recorded adverts, with a webhook receiver that shows what arrives',
      options: {
        seconds: valued('N', 'end after so many; until Ctrl-C without it'),
        feed: valued('PATH', 'your adverts in place of the recorded ones, with --format'),
        format: valued('NAME', 'poliris or mapping'),
        mapping: valued('PATH', 'the mapping, of the format mapping'),
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
      summary: 'look at the service, its servers and its settings: a line for each thing, and what to do',
      details:
        'It changes nothing. `unknown` is what cannot be asked from where it runs. Exit code 1: something is wrong.',
      options: { json: flag('the findings as JSON, for scripts') },
      example: 'vigie doctor',
      run: async ({ isJson }) => (await import('./doctor/doctor.ts')).doctor(isJson),
    },
    {
      words: 'backup',
      args: 'FILE',
      summary: 'copy the database of the embedded PostgreSQL to FILE, compressed, while the service runs or not',
      details: 'FILE appears when it is complete. Its owner alone may read it: it has everything that clients saved.',
      example: 'vigie backup /srv/backups/vigie-$(date +%u).tar.gz',
      async run({ args: [file = ''] }) {
        const { backUp } = await import('./backup.ts');
        await backUp(await settings(), file, await interruption());
      },
    },
    {
      words: 'restore',
      args: 'FILE',
      summary: 'put the database of a backup in the place of the embedded one, while the service does not run',
      details: 'The former database is kept beside it. The adverts that came since are taken in again from NATS.',
      example: 'vigie restore /srv/backups/vigie-1.tar.gz',
      async run({ args: [file = ''] }) {
        const { restore } = await import('./backup.ts');
        await restore(await settings(), file);
      },
    },
    {
      words: 'publish',
      args: '[FILE]',
      summary: 'send intake messages, one JSON object a line, from FILE or standard input',
      details: 'Sending a file twice changes nothing: a line that is in the stream already is not published again.',
      options: { strict: flag('refuse lines with members that the contract does not know') },
      example: 'vigie publish --strict adverts.ndjson',
      async run({ args: [file = null], flag: isSet }) {
        const { publishFile } = await import('./publish.ts');
        await publishFile(await settings(), file, isSet('strict'), await interruption());
      },
    },
    {
      words: 'feed',
      args: 'NAME [FILE]',
      summary: 'take in the adverts of an agency’s FILE: new and changed ones are published, missing ones expire',
      details:
        'NAME is the source, the same for each of its files. A file that cannot be read whole, is empty, or has lost more ' +
        'than three tenths of its adverts changes nothing. Exit code 2: rows were not understood.',
      options: {
        format: valued('NAME', 'poliris (Annonces.csv, or a ZIP with it) or mapping'),
        mapping: valued('PATH', 'the mapping of a CSV, NDJSON, JSON or XML file'),
        all: flag('publish what is unchanged as well'),
        force: flag('take a file that would be refused'),
        end: flag('no FILE: expire all adverts of a source that is given up'),
        'dry-run': flag('say what would change, and change nothing'),
      },
      example: 'vigie feed saint-raphael --format poliris Annonces.zip',
      run: (input) => runOfFeature('feed', input),
    },
    {
      words: 'nats',
      summary: 'print the URL of NATS, with user and password, for crawlers',
      details: 'A crawler publishes adverts and reads rejections, and can do no more.',
      options: { operator: flag('the daemon’s, which can do everything with the streams') },
      example: 'NATS_URL=$(vigie nats) node crawler.js',
      async run({ flag: isSet }) {
        const { crawlerUrlOf, natsUrlOf } = await import('./connect.ts');
        const { print } = await import('./terminal.ts');
        print(await (isSet('operator') ? natsUrlOf : crawlerUrlOf)(await settings()));
      },
    },
    {
      words: 'keys create',
      summary: 'create an API key, and its client when it is new',
      options: {
        client: valued('NAME', 'whose key it is; it must be said'),
        name: valued('NAME', 'what its owner calls it; `default` without it'),
      },
      details: 'Standard output has the key alone. It is shown this once.',
      example: 'KEY=$(vigie keys create --client acme)',
      async run({ text }) {
        if (text('client').trim() === '') throw new UsageError('keys create needs --client NAME');
        const [{ withDatabase }, { createKey }] = await Promise.all([import('./connect.ts'), import('./keys.ts')]);
        await withDatabase(await settings(), (database) =>
          createKey(database, text('client'), text('name') || 'default'),
        );
      },
    },
    {
      words: 'keys list',
      summary: 'list clients and keys',
      example: 'vigie keys list',
      async run() {
        const [{ withDatabase }, { listKeys }] = await Promise.all([import('./connect.ts'), import('./keys.ts')]);
        await withDatabase(await settings(), listKeys);
      },
    },
    {
      words: 'keys revoke',
      args: 'ID',
      summary: 'revoke a key',
      example: 'vigie keys revoke 0198c5d2-7a51-7c3e-9b1d-3f2a86c1e0b4',
      async run({ args: [id = ''] }) {
        const [connect, { revokeKey }] = await Promise.all([import('./connect.ts'), import('./keys.ts')]);
        const config = await settings();
        await connect.withDatabase(config, (database) => revokeKey(database, id));
        await connect.notifyDaemons(config, 'keys');
      },
    },
    {
      words: 'import points-of-interest',
      args: 'FILE',
      summary: 'import schools, restaurants and so on; replaces the source’s points, all or nothing',
      details: `FILE - is standard input, and needs --source. Of OpenStreetMap’s data, with osmium-tool: ${OSMIUM}`,
      options: {
        source: valued('NAME', 'whose points they are; the name of the file without its endings unless given'),
        format: valued('NAME', 'geojson, geojson-seq or annuaire-education; recognised by the first bytes'),
      },
      example: 'vigie import points-of-interest monaco.geojson',
      async run({ args: [path = ''], text }) {
        if (path === '-' && text('source') === '')
          throw new UsageError('import points-of-interest - needs --source NAME');
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
      summary: 'create the searches that another service answered to GET /searches; run twice it changes nothing',
      details:
        'FILE is JSON: one answer, a list of them, or one a line. What a search finds no more without (an endpoint) is left out and ' +
        'reported; a search with another member that is unknown or cannot be taken is refused. Exit code 2: something was ' +
        'reported.',
      options: {
        client: valued('NAME', 'whose key it is; it must be said'),
        ignore: valued('MEMBERS', 'unknown members, with commas between, that searches are created without'),
      },
      example: 'vigie import searches --client acme searches.json',
      async run({ args: [path = ''], text }) {
        if (text('client').trim() === '') throw new UsageError('import searches needs --client NAME');
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
      summary: 'what is held about a recipient of e-mails: searches, consent, oppositions, e-mails with their outcomes',
      options: { client: OF_CLIENT },
      example: 'vigie recipients show jo@example.org',
      run: (input) => runOfFeature('recipients show', input),
    },
    {
      words: 'recipients export',
      args: 'ADDRESS',
      summary: 'the same as one JSON file, on standard output',
      options: { client: OF_CLIENT },
      example: 'vigie recipients export jo@example.org > jo.json',
      run: (input) => runOfFeature('recipients export', input),
    },
    {
      words: 'recipients erase',
      args: 'ADDRESS',
      summary: 'take the address out of everything, and never write to it again without a new consent',
      details:
        'Keeps the opposition as a salted hash. An e-mail that is being sent is the last one. It may be repeated. Webhooks ' +
        'of the searches go on.',
      options: { client: OF_CLIENT },
      example: 'vigie recipients erase jo@example.org --client acme',
      run: (input) => runOfFeature('recipients erase', input),
    },
  ],
  groups: [ADMIN],
};

/** Loads the code of features only for one of their commands: it would slow down every other command. */
async function runOfFeature(words: string, input: Input): Promise<void> {
  const { FEATURES } = await import('../features.ts');
  const run = FEATURES.map(({ commands }) => commands?.[words]).find((found) => found !== undefined);
  if (run === undefined) throw new UsageError(`this program is without ${words}`);
  await run(input);
}
