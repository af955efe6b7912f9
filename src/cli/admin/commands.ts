/** All commands of `vigie admin`. For those that call one method, the .proto files define the options and most help. */

import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { readConfig } from '../../config.ts';
import type { Input, Command as PlainCommand } from '../command.ts';
import { print, printable } from '../terminal.ts';
import { type ConnectionFlags, connectAdmin } from './client.ts';
import { type Command, commandOf, type MethodCommand } from './command.ts';
import { EXPLAIN, RECOVERY_COMMANDS, WATCH_ACTIVITY } from './composed-commands.ts';
import { columns, idOf, listOf, printFacts, printMore, printTable, textOf, withoutBlanks } from './output.ts';

const DELIVERY_COLUMNS =
  'DELIVERY=name CLIENT=clientName TITLE=searchTitle STATE=state ATTEMPTS=attemptCount ERROR=lastError KIND=kind ' +
  'CREATED=createTime DUE=dueTime ENDPOINT=endpointUrl';
const oneDelivery = (answer: JsonObject) => printTable([answer], columns(DELIVERY_COLUMNS));

const STAGE_COLUMNS =
  'STAGE=name STATE=state IN_FLIGHT=inFlight INSTANCES=instanceCount PAUSED_SINCE=pauseTime REASON=pauseReason';

const SERVICE: readonly MethodCommand[] = [
  { words: 'status', method: 'GetStatus', show: showStatus },
  ...(['pause', 'resume', 'drain'] as const).map((verb) => ({
    words: `stages ${verb}`,
    args: 'STAGE',
    columns: STAGE_COLUMNS,
    example: 'deliver',
    method: { pause: 'PauseStage', resume: 'ResumeStage', drain: 'DrainStage' }[verb],
  })),
  {
    words: 'streams adopt',
    method: 'AdoptStreams',
    example: '--dry-run',
    show({ adopted }, { validateOnly }) {
      const names = (adopted ?? []) as string[];
      for (const each of names) print(`${validateOnly === true ? 'would take over' : 'took over'} the ${each}`);
      if (names.length === 0) print('No stream or consumer belongs to another database.');
    },
  },
  { words: 'index show', method: 'GetIndex', show: showIndex },
  { words: 'index rebuild', method: 'RebuildIndex', show: showIndex },
  {
    words: 'index search',
    method: 'GetIndexedSearch',
    args: 'SEARCH',
    example: 'SEARCH',
    show: ({ criteriaJson, ...facts }) => printFacts({ ...facts, criteria: withoutBlanks(textOf(criteriaJson)) }),
  },
];

const DELIVERIES: readonly MethodCommand[] = [
  {
    words: 'deliveries list',
    method: 'ListDeliveries',
    columns: DELIVERY_COLUMNS,
    details: 'A delivery must satisfy every given condition. Give at most one of --property, --advert and --url.',
    example: '--client Acme --url https://portal.example/annonce/7',
  },
  {
    words: 'deliveries show',
    method: 'GetDelivery',
    args: 'ID',
    example: 'ID --body',
    show({ attempts, body, ...delivery }) {
      printFacts(delivery);
      print();
      const shown = '#=number STARTED=startTime MS=durationMs STATUS=statusCode ERROR=error REASON=reason';
      printTable(listOf(attempts), columns(shown));
      if (body) print(`\n${printable(textOf(body))}`);
    },
  },
  { words: 'deliveries resend', method: 'ResendDelivery', args: 'ID', example: 'ID', show: oneDelivery },
  {
    words: 'endpoints list',
    method: 'ListEndpoints',
    example: '--paused',
    columns:
      'ENDPOINT=name OPEN=openCount FAILED=failedCount STREAK=failureStreak LAST_ERROR=lastError PAUSED_SINCE=pauseTime URL=url',
  },
  ...(['show', 'pause', 'resume'] as const).map((verb) => ({
    words: `endpoints ${verb}`,
    args: 'ID|URL',
    example: 'https://client.example/hook',
    method: { show: 'GetEndpoint', pause: 'PauseEndpoint', resume: 'ResumeEndpoint' }[verb],
  })),
];

const showFeed = ({ complaints, notices, warnings, ...feed }: JsonObject): void => {
  printFacts(feed);
  for (const complaint of (complaints ?? []) as string[]) print(printable(`not understood: ${complaint}`));
  for (const notice of (notices ?? []) as string[]) print(printable(`note: ${notice}`));
  for (const warning of (warnings ?? []) as string[]) print(printable(`warning: ${warning}`));
};

const FEEDS: readonly MethodCommand[] = [
  {
    words: 'feeds list',
    method: 'ListFeeds',
    columns:
      'FEED=name LIVE=advertCount NEW=newCount CHANGED=changedCount GONE=goneCount NOT_UNDERSTOOD=notUnderstoodCount ' +
      'READ=readTime READING_SINCE=readingSinceTime BYTES=receivedBytes REFUSED=refusal',
  },
  { words: 'feeds show', method: 'GetFeed', args: 'NAME', example: 'saint-raphael', show: showFeed },
  { words: 'feeds run', method: 'RunFeed', args: 'NAME', example: 'saint-raphael', show: showFeed },
];

const LETTER_CONDITIONS = ['subject', 'reason', 'start_time', 'end_time'];
const LETTERS = { args: '[ID…]', argument: 'names' } as const;

const DEAD_LETTERS: readonly MethodCommand[] = [
  {
    words: 'dead-letters list',
    method: 'ListDeadLetters',
    ...LETTERS,
    example: '--reason propertyType',
    columns: 'ID=name RECEIVED=receiveTime SUBJECT=subject BYTES=bodyBytes REASON=reason',
  },
  {
    words: 'dead-letters show',
    method: 'GetDeadLetter',
    args: 'ID',
    example: 'ID',
    show({ headers, body, ...facts }) {
      printFacts(facts, (headers ?? {}) as JsonObject);
      print(`\n${printable(Buffer.from(textOf(body), 'base64').toString('utf8'))}`);
    },
  },
  {
    words: 'dead-letters requeue',
    method: 'RequeueDeadLetters',
    ...LETTERS,
    example: '--reason propertyType --dry-run',
    demanded: LETTER_CONDITIONS,
    show: ({ requeuedCount, overtakenCount }, { validateOnly }) =>
      printFacts({
        [validateOnly === true ? 'would be requeued' : 'requeued']: requeuedCount ?? 0,
        'overtaken by a later message, and kept': overtakenCount || '',
      }),
  },
  {
    words: 'dead-letters purge',
    method: 'PurgeDeadLetters',
    ...LETTERS,
    example: '--until 30d --force',
    summary: 'deletes dead letters permanently; without --force, only counts them',
    demanded: LETTER_CONDITIONS,
    show: ({ purgeCount }, { force }) =>
      printFacts({ [force === true ? 'deleted' : 'would be deleted']: purgeCount ?? 0 }),
  },
];

const LIMITS = [
  ...['rate_limit_per_second', 'rate_limit_burst', 'write_limit_per_second', 'write_limit_burst'],
  ...['searches_max', 'polygon_corners_max', 'excluded_words_max', 'matches_per_advert_max'],
];
const CLIENT = { omitted: ['create_time', 'search_totals', 'notices_unavailable', 'update_mask'] };

const REFERENCE: readonly MethodCommand[] = [
  { words: 'clients list', method: 'ListClients', show: showClients },
  {
    words: 'clients create',
    method: 'CreateClient',
    args: 'NAME',
    argument: 'display_name',
    omitted: [...CLIENT.omitted, 'name'],
    example: 'Acme --searches 5000',
    summary: 'creates a client of the REST API; `vigie keys create` creates its keys',
    show: ({ name }) => print(idOf(name)),
  },
  {
    words: 'clients set',
    method: 'UpdateClient',
    args: 'CLIENT',
    demanded: ['*', ...LIMITS, 'notice_address', 'public_name'],
    omitted: [...CLIENT.omitted, 'display_name'],
    example: "Acme --per-second 50 --notice-address ops@example.org --public-name 'Agence du port'",
    show({ noticesUnavailable }) {
      if (noticesUnavailable === true) print('No notices are sent until VIGIE_SMTP_URL names a mail server.');
    },
  },
  { words: 'clients delete', method: 'DeleteClient', args: 'CLIENT', example: 'Acme' },
  { words: 'site-categories list', method: 'ListSiteCategories', columns: 'NAME=displayName' },
  {
    words: 'site-categories set',
    method: 'SetSiteCategories',
    args: 'NAME…',
    argument: 'display_names',
    example: "Agence 'Petites annonces'",
    columns: 'NAME=displayName',
  },
  {
    words: 'points list',
    method: 'ListPointSources',
    columns: 'SOURCE=name POINTS=pointCount IMPORTED=importTime',
    summary: 'lists the sources of points of interest; `vigie import points-of-interest` imports them',
  },
  { words: 'points delete', method: 'DeletePointSource', args: 'SOURCE', example: 'toulon' },
];

/** Prints the clients with their rate limits, and with the usage of their other limits. */
function showClients(answer: JsonObject): void {
  const limit = (title: string, max: string, total: string) => ({
    title,
    value: (row: JsonObject) =>
      `${Math.ceil(Number((row.searchTotals as JsonObject)?.[total] ?? 0))} of ${textOf(row[max] ?? 'default')}`,
  });
  const rate = (title: string, member: string) => ({ title, value: (row: JsonObject) => row[member] ?? 'default' });
  printTable(listOf(answer.clients), [
    ...columns('CLIENT=name NAME=displayName'),
    rate('PER SECOND', 'rateLimitPerSecond'),
    rate('BURST', 'rateLimitBurst'),
    rate('WRITES PER SECOND', 'writeLimitPerSecond'),
    rate('WRITES BURST', 'writeLimitBurst'),
    limit('SEARCHES', 'searchesMax', 'searchCount'),
    limit('CORNERS', 'polygonCornersMax', 'polygonCornerCount'),
    limit('EXCLUDED WORDS', 'excludedWordsMax', 'excludedWordCount'),
    limit('MATCHES PER ADVERT', 'matchesPerAdvertMax', 'matchesPerAdvert'),
    ...columns('PUBLIC_NAME=publicName NOTICES=noticeAddress CREATED=createTime'),
  ]);
  printMore(answer);
}

const COMMANDS: readonly Command[] = [
  ...SERVICE.map(commandOf),
  WATCH_ACTIVITY,
  EXPLAIN,
  ...DELIVERIES.map(commandOf),
  ...RECOVERY_COMMANDS,
  ...[...FEEDS, ...DEAD_LETTERS, ...REFERENCE].map(commandOf),
];

export const ADMIN_COMMANDS: readonly PlainCommand[] = COMMANDS.map((command) => ({
  ...command,
  run: (input) => runConnected(command, input),
}));

async function runConnected(command: Command, input: Input): Promise<void> {
  input.whole('timeout');
  const client = await connectAdmin(readConfig(), input.values as unknown as ConnectionFlags);
  try {
    await command.run(client, input);
  } finally {
    client.channel.close();
  }
}

const STREAM_COLUMNS =
  'STREAM=name MESSAGES=messageCount BYTES=byteCount PENDING=pendingCount UNACKNOWLEDGED=ackPendingCount';

function showStatus(status: JsonObject): void {
  const lead = (status.intakeLead ?? {}) as JsonObject;
  printFacts({
    version: status.version ?? '',
    'failed deliveries': status.failedDeliveryCount ?? 0,
    'dead letters': status.deadLetterCount ?? 0,
    'paused endpoints': status.pausedEndpointCount ?? 0,
    'oldest due': status.oldestDueTime ?? '',
    'intake led since': lead.beginTime ?? '',
    'intake takeover took': secondsOf(lead.gapSeconds),
    'intake without a leader for': secondsOf(lead.leaderlessSeconds),
    'searches stored': (status.index as JsonObject | undefined)?.storedSearchCount ?? 0,
    ...Object.fromEntries(
      listOf(status.openDeliveries).map(({ state, count }) => [`deliveries ${textOf(state)}`, count ?? 0]),
    ),
  });
  print();
  printTable(listOf(status.stages), columns(STAGE_COLUMNS));
  print();
  const streams = listOf(status.streams);
  if (streams.length === 0) print('NATS cannot be reached, so the streams are unknown.');
  else printTable(streams, columns(STREAM_COLUMNS));
  print();
  const rolesOf = ({ roles }: JsonObject) => (roles ?? []) as string[];
  const instances = listOf(status.instances);
  const newestMs = Math.max(...instances.map(seenMsOf));
  printTable(instances, [
    ...columns('INSTANCE=name'),
    { title: 'HOST', value: ({ host, processId }) => `${textOf(host)}:${textOf(processId)}` },
    ...columns('VERSION=version'),
    { title: 'ROLES', value: (row) => rolesOf(row).join(',') },
    { title: 'INTAKE', value: (row) => (rolesOf(row).includes('intake') ? leadershipOf(row.leadsIntake) : '') },
    { title: 'SILENT', value: (row) => silenceOf(newestMs - seenMsOf(row)) },
    { title: 'FAILING', value: ({ failingActors }) => listOf(failingActors).map(failureOf).join('; ') },
    ...columns('STARTED=startTime'),
  ]);
}

function showIndex({ instances, storedSearchCount }: JsonObject): void {
  printFacts({ 'searches stored': storedSearchCount ?? 0 });
  for (const { instance, searchCount, buildTime, figures } of listOf(instances)) {
    print();
    const shown = { instance: idOf(instance), searches: searchCount ?? 0, built: buildTime ?? '' };
    printFacts({ ...shown, ...(figures as JsonObject) });
  }
}

function secondsOf(seconds: JsonValue | undefined): string {
  return `${Number(seconds ?? 0).toFixed(1)} s`;
}

function seenMsOf({ seenTime }: JsonObject): number {
  return Date.parse(textOf(seenTime));
}

/** Heartbeats are two seconds apart, so after this time one is missing. A killed instance is listed for ten seconds. */
const SILENT_FROM_MS = 3_500;

function silenceOf(sinceMs: number): string {
  return sinceMs < SILENT_FROM_MS ? '' : `for ${Math.round(sinceMs / 1_000)} s`;
}

function failureOf({ actor, failingSeconds, reason }: JsonObject): string {
  return `${textOf(actor)} for ${textOf(failingSeconds)} s: ${textOf(reason)}`;
}

function leadershipOf(leads: JsonValue | undefined): string {
  return leads === true ? 'leads' : 'stands by';
}
