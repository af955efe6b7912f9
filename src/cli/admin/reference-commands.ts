/** `vigie admin`: clients, keys, site categories and points of interest. */

import { createInterface } from 'node:readline';
import {
  ApiKey,
  Client,
  CreateApiKeyResponse,
  ListApiKeysResponse,
  ListClientsResponse,
} from '../../admin/generated/vigie/admin/v1/clients.ts';
import {
  ListPointSourcesResponse,
  ListSiteCategoriesResponse,
  PointOfInterest,
  PointSource,
  SetSiteCategoriesResponse,
} from '../../admin/generated/vigie/admin/v1/reference.ts';
import { CLIENT_LIMIT_RANGES } from '../../domain/client-limits.ts';
import { type LineFile, openLines } from '../line-file.ts';
import { type Progress, startProgress } from '../progress.ts';
import { InterruptedError, interruptSignal } from '../stop-signal.ts';
import { CommandError, print } from '../terminal.ts';
import { AdminCallError, type AdminClient, call } from './client.ts';
import { type Command, demandCondition, named, UsageError, valued } from './command.ts';
import { idOf, printFacts, printJson, printTable } from './output.ts';

const POINTS_PER_MESSAGE = 1_000;

const LIMIT_OPTIONS = {
  'per-second': valued('N', 'requests a second that each of its keys may make, writes apart'),
  burst: valued('N', 'requests at once that each of its keys may make, writes apart'),
  'writes-per-second': valued('N', 'writes a second that each of its keys may make'),
  'writes-burst': valued('N', 'writes at once that each of its keys may make'),
  searches: valued('N', 'searches that it may have'),
  'polygon-corners': valued('N', 'corners of polygons that it may have in all of its searches'),
  'excluded-words': valued('N', 'excluded words that it may have in all of its searches'),
  'matches-per-advert': valued('N', 'matches that an advert may cause on average; `default` undoes any of these'),
};

const LIMIT_FIELDS = [
  ['per-second', 'rateLimitPerSecond', 'rate_limit_per_second'],
  ['burst', 'rateLimitBurst', 'rate_limit_burst'],
  ['writes-per-second', 'writeLimitPerSecond', 'write_limit_per_second'],
  ['writes-burst', 'writeLimitBurst', 'write_limit_burst'],
  ['searches', 'searchesMax', 'searches_max'],
  ['polygon-corners', 'polygonCornersMax', 'polygon_corners_max'],
  ['excluded-words', 'excludedWordsMax', 'excluded_words_max'],
  ['matches-per-advert', 'matchesPerAdvertMax', 'matches_per_advert_max'],
] as const;

const NO_CLIENT: Client = { name: '', displayName: '', createTime: undefined, searchTotals: undefined };

/** Those that were given, by name, and their fields. */
function limitsOf(text: (option: string) => string): { limits: Partial<Client>; updateMask: string[] } {
  const given = LIMIT_FIELDS.filter(([option]) => text(option) !== '');
  const limits = given.map(([option, member]) => {
    const value = text(option);
    if (value === 'default') return [member, undefined];
    const { min, max } = CLIENT_LIMIT_RANGES[member];
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) {
      throw new UsageError(`--${option} takes a whole number from ${min} to ${max}, or default`);
    }
    return [member, number];
  });
  return { limits: Object.fromEntries(limits), updateMask: given.map(([, , field]) => field) };
}

/** What a client has, and what it may have. */
const TOTALS = (
  [
    ['SEARCHES', 'searchCount', 'searchesMax'],
    ['CORNERS', 'polygonCornerCount', 'polygonCornersMax'],
    ['EXCLUDED WORDS', 'excludedWordCount', 'excludedWordsMax'],
    ['MATCHES PER ADVERT', 'matchesPerAdvert', 'matchesPerAdvertMax'],
  ] as const
).map(([title, total, max]) => ({
  title,
  value: (one: Client) => `${Math.ceil(one.searchTotals?.[total] ?? 0)} of ${one[max] ?? 'default'}`,
}));

const CLIENTS: readonly Command[] = [
  {
    words: 'clients list',
    summary: 'clients of the REST API',
    example: 'vigie admin clients list',
    async run(client, { isJson }) {
      const listed = await call(client, client.stub.listClients, { pageSize: 1_000, pageToken: '' });
      if (isJson) return printJson(ListClientsResponse.toJSON(listed));
      printTable(listed.clients, [
        { title: 'CLIENT', value: ({ name }: Client) => idOf(name) },
        { title: 'NAME', value: ({ displayName }) => displayName },
        { title: 'PER SECOND', value: ({ rateLimitPerSecond }) => rateLimitPerSecond ?? 'default' },
        { title: 'BURST', value: ({ rateLimitBurst }) => rateLimitBurst ?? 'default' },
        { title: 'WRITES PER SECOND', value: ({ writeLimitPerSecond }) => writeLimitPerSecond ?? 'default' },
        { title: 'WRITES BURST', value: ({ writeLimitBurst }) => writeLimitBurst ?? 'default' },
        ...TOTALS,
        { title: 'CREATED', value: ({ createTime }) => createTime },
      ]);
    },
  },
  {
    words: 'clients create',
    args: 'NAME',
    summary: 'a new client of the REST API',
    options: LIMIT_OPTIONS,
    example: 'vigie admin clients create Acme --searches 5000',
    async run(client, { args, text, isJson }) {
      const { limits } = limitsOf(text);
      const created = await call(client, client.stub.createClient, {
        client: { ...NO_CLIENT, displayName: args[0] as string, ...limits },
      });
      if (isJson) printJson(Client.toJSON(created));
      else print(idOf(created.name));
    },
  },
  {
    words: 'clients update',
    args: 'CLIENT',
    summary: 'change the limits of a client; what it has beyond them keeps working',
    options: LIMIT_OPTIONS,
    example: 'vigie admin clients update CLIENT --per-second 50 --burst default',
    async run(client, input) {
      demandCondition({ ...input, args: [] }, Object.keys(LIMIT_OPTIONS));
      const { args, text, isJson } = input;
      const { limits, updateMask } = limitsOf(text);
      const updated = await call(client, client.stub.updateClient, {
        client: { ...NO_CLIENT, name: named('clients', args[0] as string), ...limits },
        updateMask,
      });
      if (isJson) printJson(Client.toJSON(updated));
    },
  },
  {
    words: 'clients delete',
    args: 'CLIENT',
    summary: 'refuse its keys from now on and delete its searches',
    example: 'vigie admin clients delete CLIENT',
    async run(client, { args }) {
      await call(client, client.stub.deleteClient, { name: named('clients', args[0] as string) });
    },
  },
  {
    words: 'keys list',
    args: 'CLIENT',
    summary: 'API keys of a client, newest first',
    example: 'vigie admin keys list CLIENT',
    async run(client, { args, isJson }) {
      const parent = named('clients', args[0] as string);
      const listed = await call(client, client.stub.listApiKeys, { parent, pageSize: 1_000, pageToken: '' });
      if (isJson) return printJson(ListApiKeysResponse.toJSON(listed));
      printTable(listed.apiKeys, [
        { title: 'KEY', value: ({ name }: ApiKey) => idOf(name) },
        { title: 'NAME', value: ({ displayName }) => displayName },
        { title: 'PREFIX', value: ({ prefix }) => prefix },
        { title: 'CREATED', value: ({ createTime }) => createTime },
        { title: 'REVOKED', value: ({ revokeTime }) => revokeTime },
      ]);
    },
  },
  {
    words: 'keys create',
    args: 'CLIENT',
    summary: 'a new API key; it is shown this once',
    options: { name: valued('NAME', 'what its owner calls it') },
    example: 'vigie admin keys create CLIENT --name production',
    async run(client, { args, text, isJson }) {
      const request = { parent: named('clients', args[0] as string), displayName: text('name') };
      const created = await call(client, client.stub.createApiKey, request);
      if (isJson) printJson(CreateApiKeyResponse.toJSON(created));
      else print(created.key);
    },
  },
  {
    words: 'keys revoke',
    args: 'CLIENT KEY',
    summary: 'refuse the key from now on',
    example: 'vigie admin keys revoke CLIENT KEY',
    async run(client, { args }) {
      const [owner = '', key = ''] = args;
      await call(client, client.stub.revokeApiKey, { name: `${named('clients', owner)}/apiKeys/${idOf(key)}` });
    },
  },
];

/** One JSON object a line: `facility`, `lat`, `lon`, and when known `displayName` and `attributes`. */
async function importPoints(client: AdminClient, source: string, path: string): Promise<PointSource> {
  const input = await openLines(path);
  const stopping = interruptSignal();
  const progress = startProgress(`importing ${path}`, 'points');
  try {
    return await new Promise((resolve, reject) => {
      const stream = client.stub.importPointsOfInterest(client.metadata, client.options(), (error, imported) => {
        if (error === null) resolve(imported);
        else reject(new AdminCallError(error, client.stub.getChannel().getTarget()));
      });
      const breakOff = (reason: Error): void => {
        stream.cancel();
        reject(reason);
      };
      stopping.addEventListener('abort', () => breakOff(new InterruptedError(stopping, 'nothing is replaced')));
      const send: SendPoints = (points, last) =>
        new Promise((sent) => {
          if (stream.write({ source, points, last })) sent();
          else stream.once('drain', sent);
        });
      sendLines(input, progress, send).then(() => stream.end(), breakOff);
    });
  } finally {
    progress.end();
    input.stream.destroy();
  }
}

type SendPoints = (points: PointOfInterest[], last: boolean) => Promise<void>;

async function sendLines({ path, stream, shareRead }: LineFile, progress: Progress, send: SendPoints): Promise<void> {
  let points: PointOfInterest[] = [];
  let lineNumber = 0;
  for await (const line of createInterface({ input: stream })) {
    lineNumber += 1;
    if (line.trim() !== '') points.push(pointOf(line, lineNumber));
    if (points.length < POINTS_PER_MESSAGE) continue;
    await send(points, false);
    points = [];
    progress.tell({ doing: `importing ${path}`, count: lineNumber, share: shareRead() });
  }
  await send(points, true);
}

function pointOf(line: string, lineNumber: number): PointOfInterest {
  try {
    return PointOfInterest.fromJSON(JSON.parse(line));
  } catch (error) {
    throw new CommandError(`line ${lineNumber}: ${(error as Error).message}`, { cause: error });
  }
}

export const REFERENCE_COMMANDS: readonly Command[] = [
  ...CLIENTS,
  {
    words: 'site-categories list',
    summary: 'what publisher.category of an advert may be called',
    example: 'vigie admin site-categories list',
    async run(client, { isJson }) {
      const listed = await call(client, client.stub.listSiteCategories, { pageSize: 0, pageToken: '' });
      if (isJson) return printJson(ListSiteCategoriesResponse.toJSON(listed));
      for (const { displayName } of listed.siteCategories) print(displayName);
    },
  },
  {
    words: 'site-categories set',
    args: 'NAME…',
    summary: 'make these the only ones; those that searches name cannot go',
    example: "vigie admin site-categories set Agence 'Petites annonces'",
    async run(client, { args, isJson }) {
      const set = await call(client, client.stub.setSiteCategories, { displayNames: [...args] });
      if (isJson) return printJson(SetSiteCategoriesResponse.toJSON(set));
      for (const { displayName } of set.siteCategories) print(displayName);
    },
  },
  {
    words: 'points list',
    summary: 'sources of points of interest',
    example: 'vigie admin points list',
    async run(client, { isJson }) {
      const listed = await call(client, client.stub.listPointSources, { pageSize: 0, pageToken: '' });
      if (isJson) return printJson(ListPointSourcesResponse.toJSON(listed));
      printTable(listed.pointSources, [
        { title: 'SOURCE', value: ({ name }) => idOf(name) },
        { title: 'POINTS', value: ({ pointCount }) => pointCount },
        { title: 'IMPORTED', value: ({ importTime }) => importTime },
      ]);
    },
  },
  {
    words: 'points import',
    args: 'SOURCE FILE',
    summary: 'replace the points of a source',
    details:
      'FILE has a JSON object a line with facility, lat and lon, and when known displayName and attributes. With a ' +
      'line that is wrong nothing is replaced. `vigie import points-of-interest` reads OpenStreetMap and other files.',
    example: 'vigie admin points import toulon schools.ndjson',
    async run(client, { args, isJson }) {
      const [source = '', file = ''] = args;
      const imported = await importPoints(client, named('pointSources', source), file);
      if (isJson) printJson(PointSource.toJSON(imported));
      else printFacts({ source: idOf(imported.name), points: imported.pointCount });
    },
  },
  {
    words: 'points delete',
    args: 'SOURCE',
    summary: 'delete a source and its points',
    example: 'vigie admin points delete toulon',
    async run(client, { args }) {
      await call(client, client.stub.deletePointSource, { name: named('pointSources', args[0] as string) });
    },
  },
];
