/** `vigie admin`: deliveries and endpoints. */

import {
  Delivery,
  type Delivery_State,
  delivery_StateFromJSON,
  ListDeliveriesResponse,
  ReplayDeliveriesResponse,
} from '../../admin/generated/vigie/admin/v1/deliveries.ts';
import { Endpoint, ListEndpointsResponse } from '../../admin/generated/vigie/admin/v1/endpoints.ts';
import { EVENT_KINDS } from '../../domain/codes.ts';
import { print } from '../terminal.ts';
import { call } from './client.ts';
import {
  CLIENT,
  type Command,
  clientNamed,
  DRY_RUN,
  demandCondition,
  ENDPOINT,
  endpointNamed,
  type Input,
  flag as isSet,
  named,
  PAGE,
  PAUSE_REASON,
  PROPERTY,
  propertyNamed,
  RANGE,
  SEARCH,
  UsageError,
  valued,
} from './command.ts';
import { withCountdown } from './countdown.ts';
import { idOf, printFacts, printJson, printTable, stateOf } from './output.ts';

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

function showEndpoints(endpoints: readonly Endpoint[]): void {
  printTable(endpoints, [
    { title: 'ENDPOINT', value: ({ name }) => idOf(name) },
    { title: 'OPEN', value: ({ openCount }) => openCount },
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
    args: 'ID|URL',
    summary,
    ...(verb === 'pause' ? { options: PAUSE_REASON } : {}),
    example: `vigie admin endpoints ${verb} https://client.example/hook`,
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
    summary: 'deliveries, newest first',
    details: 'Every condition that is given must hold. Of a property at most one of --property, --advert and --url.',
    options: {
      ...CLIENT,
      ...SEARCH,
      ...PROPERTY,
      ...ENDPOINT,
      event: valued('KIND', `of this event alone: ${EVENT_KINDS.join(', ')}`),
      channel: valued('CHANNEL', 'match, event or email'),
      state: valued('STATE', 'queued, sending, retry_wait, delivered, failed or cancelled'),
      ...RANGE,
      ...PAGE,
    },
    example: 'vigie admin deliveries list --client Acme --url https://portal.example/annonce/7',
    async run(client, input) {
      const page = { pageSize: input.whole('limit'), pageToken: input.text('page-token') };
      const request = {
        ...page,
        ...conditionsOf(input),
        ...propertyNamed(input),
        client: clientNamed(input.text('client')),
        kind: input.text('event'),
        channel: input.text('channel'),
      };
      const listed = await call(client, client.stub.listDeliveries, request);
      if (input.isJson) return printJson(ListDeliveriesResponse.toJSON(listed));
      showDeliveries(listed.deliveries);
      if (listed.nextPageToken !== '') print(`more: --page-token ${listed.nextPageToken}`);
    },
  },
  {
    words: 'deliveries show',
    args: 'ID',
    summary: 'one delivery with its attempts',
    options: { body: isSet('also what it sends, contacts of advertisers included') },
    example: 'vigie admin deliveries show ID --body',
    async run(client, { args, flag, isJson }) {
      const name = named('deliveries', args[0] as string);
      const delivery = await call(client, client.stub.getDelivery, { name, includeBody: flag('body') });
      if (isJson) printJson(Delivery.toJSON(delivery));
      else showDelivery(delivery);
    },
  },
  {
    words: 'deliveries retry',
    args: 'ID',
    summary: 'make one delivery due now',
    details: 'A failed one starts a new series of six attempts, under its original id and with its original bytes.',
    example: 'vigie admin deliveries retry ID',
    async run(client, { args, isJson }) {
      const delivery = await call(client, client.stub.retryDelivery, { name: named('deliveries', args[0] as string) });
      if (isJson) printJson(Delivery.toJSON(delivery));
      else showDeliveries([delivery]);
    },
  },
  {
    words: 'deliveries resend',
    args: 'ID',
    summary: 'send one webhook again, delivered or not',
    details:
      'Under its original id and with its original bytes, to the endpoint that its search has now. One that is final ' +
      'starts a series of six attempts of its own, one that waits is due now.',
    example: 'vigie admin deliveries resend ID',
    async run(client, { args, isJson }) {
      const delivery = await call(client, client.stub.resendDelivery, { name: named('deliveries', args[0] as string) });
      if (isJson) printJson(Delivery.toJSON(delivery));
      else showDeliveries([delivery]);
    },
  },
  {
    words: 'deliveries replay',
    summary: 'send failed webhooks again',
    details:
      'Of webhooks alone: an e-mail that failed is sent again item by item, with `deliveries retry`. Those that fit every condition, oldest first, under their original ids and with their original bytes. Those ' +
      'whose search is deleted or silent stay as they are. Interrupted, it can be called again: what was put back ' +
      'is not failed any more.',
    options: {
      ...SEARCH,
      ...ENDPOINT,
      ...RANGE,
      all: isSet('every failed delivery'),
      ...DRY_RUN,
      pace: valued('N', 'so many a second, for a receiver that has just recovered; 100 without it'),
    },
    example: 'vigie admin deliveries replay --endpoint https://client.example/hook --since 2d --dry-run',
    async run(client, input) {
      demandCondition(input, ['search', 'endpoint', 'since', 'until', 'all']);
      const isDryRun = input.flag('dry-run');
      const conditions = { ...conditionsOf(input), state: stateNamed(input.flag('all') ? 'failed' : '') };
      const replay = (validateOnly: boolean, stopping: AbortSignal | null = null) => {
        const request = { ...conditions, validateOnly, pacePerSecond: input.whole('pace') };
        return call(client, client.stub.replayDeliveries, request, stopping);
      };
      const counting = {
        ...{ doing: 'sending again', unit: 'deliveries' },
        count: async () => (await replay(true)).replayedCount,
      };
      const replayed = isDryRun
        ? await replay(true)
        : await withCountdown({ ...counting, work: (stopping) => replay(false, stopping) });
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

export const DELIVERY_COMMANDS: readonly Command[] = [
  ...DELIVERIES,
  {
    words: 'endpoints list',
    summary: 'endpoints, those with most waiting first',
    options: { paused: isSet('only those that an operator has paused'), ...PAGE },
    example: 'vigie admin endpoints list --paused',
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
