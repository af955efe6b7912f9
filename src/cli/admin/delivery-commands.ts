/** `vigie admin`: deliveries, dead letters and endpoints. */

import {
  DeadLetter,
  ListDeadLettersResponse,
  PurgeDeadLettersResponse,
  RequeueDeadLettersResponse,
} from '../../admin/generated/vigie/admin/v1/dead_letters.ts';
import {
  Delivery,
  type Delivery_State,
  delivery_StateFromJSON,
  ListDeliveriesResponse,
  ReplayDeliveriesResponse,
} from '../../admin/generated/vigie/admin/v1/deliveries.ts';
import { Endpoint, ListEndpointsResponse } from '../../admin/generated/vigie/admin/v1/endpoints.ts';
import { print } from '../terminal.ts';
import { call } from './client.ts';
import { BOOLEAN, type Command, endpointNamed, type Input, named, STRING, UsageError } from './command.ts';
import { idOf, printFacts, printJson, printTable, stateOf } from './output.ts';

const RANGE = { since: STRING, until: STRING };
const RANGE_USAGE = '[--since TIME] [--until TIME]';
const LETTER_USAGE = `[ID…] [--subject SUBJECT] [--reason TEXT] ${RANGE_USAGE}`;
const LETTER_OPTIONS = { ...RANGE, subject: STRING, reason: STRING };
const IDS_MAX = 1_000;

function showDeliveries(deliveries: readonly Delivery[]): void {
  printTable(deliveries, [
    { title: 'DELIVERY', value: ({ name }) => idOf(name) },
    { title: 'STATE', value: ({ state }) => stateOf(state) },
    { title: 'ATTEMPTS', value: ({ attemptCount }) => attemptCount },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'CREATED', value: ({ createTime }) => createTime },
    { title: 'DUE', value: ({ dueTime }) => dueTime },
    { title: 'ENDPOINT', value: ({ endpointUrl }) => endpointUrl },
  ]);
}

function showDelivery({ attempts, body, ...delivery }: Delivery): void {
  printFacts({ ...delivery, state: stateOf(delivery.state) });
  print();
  printTable(attempts, [
    { title: '#', value: ({ number }) => number },
    { title: 'STARTED', value: ({ startTime }) => startTime },
    { title: 'MS', value: ({ durationMs }) => durationMs },
    { title: 'STATUS', value: ({ statusCode }) => statusCode || '' },
    { title: 'ERROR', value: ({ error }) => error },
    { title: 'REASON', value: ({ reason }) => reason },
  ]);
  if (body !== '') print(`\n${body}`);
}

function conditionsOf({ text, time }: Input) {
  return {
    search: named('searches', text('search')),
    endpoint: endpointNamed(text('endpoint')),
    state: stateNamed(text('state')),
    startTime: time('since'),
    endTime: time('until'),
  };
}

function stateNamed(state: string): Delivery_State {
  const found = delivery_StateFromJSON(state === '' ? 0 : `STATE_${state.toUpperCase()}`);
  if (found === 'UNRECOGNIZED') throw new UsageError(`--state ${state} is no known state`);
  return found;
}

function letterFilterOf({ args, text, time }: Input) {
  return {
    names: args.map((id) => named('deadLetters', id)),
    subject: text('subject'),
    reason: text('reason'),
    startTime: time('since'),
    endTime: time('until'),
  };
}

function showEndpoints(endpoints: readonly Endpoint[]): void {
  printTable(endpoints, [
    { title: 'ENDPOINT', value: ({ name }) => idOf(name) },
    { title: 'OPEN', value: ({ openCount }) => openCount },
    { title: 'PARKED', value: ({ parkedCount }) => parkedCount },
    { title: 'FAILED', value: ({ failedCount }) => failedCount },
    { title: 'STREAK', value: ({ failureStreak }) => failureStreak },
    { title: 'LAST ERROR', value: ({ lastError }) => lastError },
    { title: 'PAUSED SINCE', value: ({ pauseTime }) => pauseTime },
    { title: 'URL', value: ({ url }) => url },
  ]);
}

function endpointCommand(verb: 'show' | 'pause' | 'resume', summary: string): Command {
  return {
    words: `endpoints ${verb}`,
    usage: `ID|URL${verb === 'pause' ? ' [--reason TEXT]' : ''}`,
    summary,
    argumentsMin: 1,
    ...(verb === 'pause' ? { options: { reason: STRING } } : {}),
    async run(client, { args, text, isJson }) {
      const name = endpointNamed(args[0] as string);
      const { stub } = client;
      const endpoint = await (verb === 'pause'
        ? call(client, stub.pauseEndpoint, { name, reason: text('reason') })
        : call(client, verb === 'show' ? stub.getEndpoint : stub.resumeEndpoint, { name }));
      if (isJson) printJson(Endpoint.toJSON(endpoint));
      else printFacts({ ...endpoint });
    },
  };
}

const DELIVERIES: readonly Command[] = [
  {
    words: 'deliveries list',
    usage: `[--search ID] [--endpoint ID|URL] [--state STATE] ${RANGE_USAGE} [--limit N] [--page-token TOKEN]`,
    summary: 'deliveries, newest first. TIME: ISO 8601, or an age such as 2h',
    options: { ...RANGE, search: STRING, endpoint: STRING, state: STRING, limit: STRING, 'page-token': STRING },
    async run(client, input) {
      const page = { pageSize: input.whole('limit'), pageToken: input.text('page-token') };
      const listed = await call(client, client.stub.listDeliveries, { ...page, ...conditionsOf(input) });
      if (input.isJson) return printJson(ListDeliveriesResponse.toJSON(listed));
      showDeliveries(listed.deliveries);
      if (listed.nextPageToken !== '') print(`more: --page-token ${listed.nextPageToken}`);
    },
  },
  {
    words: 'deliveries show',
    usage: 'ID [--body]',
    summary: 'one delivery with its attempts; --body adds what it sends, contacts included',
    options: { body: BOOLEAN },
    argumentsMin: 1,
    async run(client, { args, flag, isJson }) {
      const name = named('deliveries', args[0] as string);
      const delivery = await call(client, client.stub.getDelivery, { name, includeBody: flag('body') });
      if (isJson) printJson(Delivery.toJSON(delivery));
      else showDelivery(delivery);
    },
  },
  {
    words: 'deliveries retry',
    usage: 'ID',
    summary: 'make one delivery due now; a failed one starts anew under its id',
    argumentsMin: 1,
    async run(client, { args, isJson }) {
      const delivery = await call(client, client.stub.retryDelivery, { name: named('deliveries', args[0] as string) });
      if (isJson) printJson(Delivery.toJSON(delivery));
      else showDeliveries([delivery]);
    },
  },
  {
    words: 'deliveries replay',
    usage: `[--search ID] [--endpoint ID|URL] ${RANGE_USAGE} [--all] [--dry-run] [--pace N]`,
    summary: 'send failed deliveries again, with their ids and bytes, --pace of them a second (100)',
    options: { ...RANGE, search: STRING, endpoint: STRING, all: BOOLEAN, 'dry-run': BOOLEAN, pace: STRING },
    async run(client, input) {
      const isDryRun = input.flag('dry-run');
      const replayed = await call(client, client.stub.replayDeliveries, {
        ...conditionsOf(input),
        state: stateNamed(input.flag('all') ? 'failed' : ''),
        validateOnly: isDryRun,
        pacePerSecond: input.whole('pace'),
      });
      if (input.isJson) return printJson(ReplayDeliveriesResponse.toJSON(replayed));
      printFacts({
        [isDryRun ? 'would be sent again' : 'sent again']: replayed.replayedCount,
        oldest: replayed.oldestCreateTime,
        newest: replayed.newestCreateTime,
        'left alone, search gone or silent': replayed.unwantedCount,
      });
      for (const name of replayed.sample) print(`  ${idOf(name)}`);
    },
  },
];

const DEAD_LETTERS: readonly Command[] = [
  {
    words: 'dead-letters list',
    usage: `${LETTER_USAGE} [--limit N] [--page-token TOKEN]`,
    summary: 'intake messages that could not be understood, newest first',
    options: { ...LETTER_OPTIONS, limit: STRING, 'page-token': STRING },
    argumentsMax: IDS_MAX,
    async run(client, input) {
      const page = { pageSize: input.whole('limit'), pageToken: input.text('page-token') };
      const listed = await call(client, client.stub.listDeadLetters, { ...page, filter: letterFilterOf(input) });
      if (input.isJson) return printJson(ListDeadLettersResponse.toJSON(listed));
      printTable(listed.deadLetters, [
        { title: 'ID', value: ({ name }) => idOf(name) },
        { title: 'RECEIVED', value: ({ receiveTime }) => receiveTime },
        { title: 'SUBJECT', value: ({ subject }) => subject },
        { title: 'BYTES', value: ({ bodyBytes }) => bodyBytes },
        { title: 'REASON', value: ({ reason }) => reason },
      ]);
      if (listed.nextPageToken !== '') print(`more: --page-token ${listed.nextPageToken}`);
    },
  },
  {
    words: 'dead-letters show',
    usage: 'ID',
    summary: 'one dead letter with its body',
    argumentsMin: 1,
    async run(client, { args, isJson }) {
      const letter = await call(client, client.stub.getDeadLetter, { name: named('deadLetters', args[0] as string) });
      if (isJson) return printJson(DeadLetter.toJSON(letter));
      const { headers, body, ...facts } = letter;
      printFacts({ ...facts, ...headers });
      print(`\n${body.toString('utf8')}`);
    },
  },
  {
    words: 'dead-letters requeue',
    usage: `${LETTER_USAGE} [--dry-run]`,
    summary: 'publish them again; those still not understood come back',
    options: { ...LETTER_OPTIONS, 'dry-run': BOOLEAN },
    argumentsMax: IDS_MAX,
    async run(client, input) {
      const validateOnly = input.flag('dry-run');
      const filter = letterFilterOf(input);
      const requeued = await call(client, client.stub.requeueDeadLetters, { filter, validateOnly });
      if (input.isJson) return printJson(RequeueDeadLettersResponse.toJSON(requeued));
      printFacts({ [validateOnly ? 'would be published again' : 'published again']: requeued.requeuedCount });
    },
  },
  {
    words: 'dead-letters purge',
    usage: `${LETTER_USAGE} [--force]`,
    summary: 'delete them for good; without --force it only counts',
    options: { ...LETTER_OPTIONS, force: BOOLEAN },
    argumentsMax: IDS_MAX,
    async run(client, input) {
      const force = input.flag('force');
      const purged = await call(client, client.stub.purgeDeadLetters, { filter: letterFilterOf(input), force });
      if (input.isJson) return printJson(PurgeDeadLettersResponse.toJSON(purged));
      printFacts({ [force ? 'deleted' : 'would be deleted']: purged.purgeCount });
    },
  },
];

export const DELIVERY_COMMANDS: readonly Command[] = [
  ...DELIVERIES,
  ...DEAD_LETTERS,
  {
    words: 'endpoints list',
    usage: '[--paused] [--limit N] [--page-token TOKEN]',
    summary: 'endpoints, those with most waiting first',
    options: { paused: BOOLEAN, limit: STRING, 'page-token': STRING },
    async run(client, { whole, text, flag, isJson }) {
      const page = { pageSize: whole('limit'), pageToken: text('page-token') };
      const listed = await call(client, client.stub.listEndpoints, { ...page, pausedOnly: flag('paused') });
      if (isJson) return printJson(ListEndpointsResponse.toJSON(listed));
      showEndpoints(listed.endpoints);
      if (listed.nextPageToken !== '') print(`more: --page-token ${listed.nextPageToken}`);
    },
  },
  endpointCommand('show', 'the health of one endpoint'),
  endpointCommand('pause', 'park its deliveries; nothing is lost and no attempt is used'),
  endpointCommand('resume', 'put them back'),
];
