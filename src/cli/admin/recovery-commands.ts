/** `vigie admin`: recoveries, which clients start themselves as well (`POST /recoveries`). */

import type { JsonObject } from '@bufbuild/protobuf';
import { pause } from '../../engine/actor/waiting.ts';
import { flag, UsageError } from '../command.ts';
import { startProgress } from '../progress.ts';
import { InterruptedError, interruptSignal } from '../stop-signal.ts';
import { type AdminClient, call } from './client.ts';
import { type Command, commandOf } from './command.ts';
import { methodNamed } from './descriptors.ts';
import { columns, idOf, listOf, printFacts, printJson, printTable, textOf } from './output.ts';
import { fieldsOf, optionsOf, requestOf } from './request.ts';

const LOOK_EVERY_MS = 1_000;
const PAGE_SIZE_MAX = 1_000;
const START_FIELDS = fieldsOf(methodNamed('StartRecovery').input, []);
const COLUMNS =
  'RECOVERY=name STATE=state MATCHED=matchedCount DELIVERED=deliveredCount FAILED=failedCount ' +
  'REMAINING=remainingCount SINCE=startTime CREATED=createTime CLIENT=client';

/** Until it is final. Ctrl-C ends the watching alone. */
async function followed(client: AdminClient, name: string): Promise<JsonObject> {
  const stopping = interruptSignal();
  const progress = startProgress('counting', 'deliveries');
  let recovery = await call(client, 'GetRecovery', { name });
  try {
    for (; isOpen(recovery); recovery = await call(client, 'GetRecovery', { name })) {
      const { matched, done } = countsOf(recovery);
      if (recovery.state === 'STATE_COUNTING') progress.tell({ doing: 'counting', count: matched, share: null });
      else progress.tell({ doing: 'sending again', count: done, share: matched === 0 ? null : done / matched });
      await pause(LOOK_EVERY_MS, stopping);
      stopping.throwIfAborted();
    }
  } catch (error) {
    if (!stopping.aborted) throw error;
    const { matched, done } = countsOf(recovery);
    const goesOn = `and it goes on without you: vigie admin recoveries watch ${idOf(name)}`;
    throw new InterruptedError(stopping, `${done} of ${matched} deliveries done, ${goesOn}`);
  } finally {
    progress.end();
  }
  return recovery;
}

function isOpen({ state }: JsonObject): boolean {
  return state === 'STATE_COUNTING' || state === 'STATE_RUNNING';
}

function countsOf({ matchedCount, remainingCount }: JsonObject) {
  const matched = Number(matchedCount);
  return { matched, done: matched - Number(remainingCount) };
}

function show(recovery: JsonObject, isJson: boolean): void {
  if (isJson) printJson(recovery);
  else printFacts(recovery);
}

async function* allClients(client: AdminClient): AsyncGenerator<JsonObject> {
  for (let pageToken = ''; ; ) {
    const page = await call(client, 'ListClients', { pageSize: PAGE_SIZE_MAX, pageToken });
    yield* listOf(page.clients);
    pageToken = textOf(page.nextPageToken);
    if (pageToken === '') return;
  }
}

/** Of each client that has something to be sent again; a recovery that it has already goes on. */
async function startedOfAll(client: AdminClient, request: JsonObject): Promise<readonly JsonObject[]> {
  const started: JsonObject[] = [];
  for await (const { name = '' } of allClients(client)) {
    const planned = await call(client, 'StartRecovery', { ...request, client: name, validateOnly: true });
    if (Number(planned.matchedCount) === 0) continue;
    const { recoveries } = await call(client, 'ListRecoveries', { client: name, pageSize: 1 });
    const open = listOf(recoveries).find(isOpen);
    const isPlan = request.validateOnly === true;
    started.push(isPlan ? planned : (open ?? (await call(client, 'StartRecovery', { ...request, client: name }))));
  }
  return started;
}

const START: Command = {
  words: 'recoveries start',
  summary: 'send again what a client should have received since a moment and has not',
  details:
    'Webhooks that have failed or wait for their hour, oldest first, under their original ids and with their original ' +
    'bytes, at a pace that leaves fresh ones their slots. It runs in the daemon, one at a time for each client. An ' +
    'item of an e-mail is sent again by itself, with `deliveries resend`.',
  options: {
    ...optionsOf(START_FIELDS),
    'all-clients': flag('in place of --client: of every client that has something to be sent again, one for each'),
    watch: flag('stay until it has ended, and show how far it is'),
  },
  example: 'vigie admin recoveries start --client Acme --since 6h --watch',
  async run(client, input) {
    const request = requestOf(START_FIELDS, input);
    const isOfAll = input.flag('all-clients');
    if (isOfAll === (request.client !== undefined) || request.startTime === undefined) {
      throw new UsageError('say whose and since when: --client, --since; or --all-clients, --since');
    }
    if (isOfAll) {
      const taken = ['search', 'endpoint-url', 'watch'].find((option) => input.values[option] !== undefined);
      if (taken !== undefined) throw new UsageError(`--${taken} goes with --client`);
      const recoveries = await startedOfAll(client, request);
      return input.isJson ? printJson({ recoveries }) : printTable(recoveries, columns(COLUMNS));
    }
    const started = await call(client, 'StartRecovery', request);
    if (request.validateOnly === true) return show(started, input.isJson);
    show(input.flag('watch') ? await followed(client, textOf(started.name)) : started, input.isJson);
  },
};

const WATCH: Command = {
  words: 'recoveries watch',
  args: 'ID',
  summary: 'how far it is, until it has ended; Ctrl-C ends the watching alone',
  example: 'vigie admin recoveries watch ID',
  async run(client, { args: [id = ''], isJson }) {
    show(await followed(client, `recoveries/${idOf(id)}`), isJson);
  },
};

export const RECOVERY_COMMANDS: readonly Command[] = [
  START,
  commandOf({
    ...{ words: 'recoveries list', method: 'ListRecoveries', example: '--client Acme' },
    columns: COLUMNS,
  }),
  commandOf({
    ...{ words: 'recoveries show', method: 'GetRecovery', args: 'ID', example: 'ID' },
  }),
  WATCH,
  commandOf({
    ...{ words: 'recoveries stop', method: 'StopRecovery', args: 'ID', example: 'ID' },
  }),
];
