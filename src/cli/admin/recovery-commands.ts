/** `vigie admin`: recoveries, which clients start themselves as well (`POST /recoveries`). */

import { pause } from '../../actor/waiting.ts';
import { ListRecoveriesResponse, Recovery, Recovery_State } from '../../admin/generated/vigie/admin/v1/recoveries.ts';
import { startProgress } from '../progress.ts';
import { InterruptedError, interruptSignal } from '../stop-signal.ts';
import { print } from '../terminal.ts';
import { type AdminClient, call } from './client.ts';
import {
  CLIENT,
  type Command,
  clientNamed,
  type Input,
  flag as isSet,
  named,
  PAGE,
  RANGE,
  SEARCH,
  UsageError,
  valued,
} from './command.ts';
import { idOf, printFacts, printJson, printTable, stateOf } from './output.ts';

const LOOK_EVERY_MS = 1_000;

function showRecovery(recovery: Recovery, isJson: boolean): void {
  if (isJson) printJson(Recovery.toJSON(recovery));
  else printFacts({ ...recovery, state: stateOf(recovery.state) });
}

function doneOf({ matchedCount, remainingCount }: Recovery): number {
  return matchedCount - remainingCount;
}

/** Until it is final. Ctrl-C ends the watching alone. */
async function followed(client: AdminClient, name: string): Promise<Recovery> {
  const stopping = interruptSignal();
  const progress = startProgress('counting', 'deliveries');
  let recovery = await call(client, client.stub.getRecovery, { name });
  try {
    for (; isOpen(recovery); recovery = await call(client, client.stub.getRecovery, { name })) {
      const { state, matchedCount } = recovery;
      if (state === Recovery_State.STATE_COUNTING)
        progress.tell({ doing: 'counting', count: matchedCount, share: null });
      else {
        const done = doneOf(recovery);
        progress.tell({ doing: 'sending again', count: done, share: matchedCount === 0 ? null : done / matchedCount });
      }
      await pause(LOOK_EVERY_MS, stopping);
      stopping.throwIfAborted();
    }
  } catch (error) {
    if (!stopping.aborted) throw error;
    const done = `${doneOf(recovery)} of ${recovery.matchedCount} deliveries done`;
    throw new InterruptedError(
      stopping,
      `${done}, and it goes on without you: vigie admin recoveries watch ${idOf(name)}`,
    );
  } finally {
    progress.end();
  }
  return recovery;
}

function isOpen({ state }: Recovery): boolean {
  return state === Recovery_State.STATE_COUNTING || state === Recovery_State.STATE_RUNNING;
}

function requestOf({ text, time, flag }: Input) {
  const startTime = time('since');
  if (text('client') === '' || startTime === undefined)
    throw new UsageError('say whose and since when: --client, --since');
  return {
    client: clientNamed(text('client')),
    startTime,
    endTime: time('until'),
    search: named('searches', text('search')),
    endpointUrl: text('endpoint-url'),
    includeDelivered: flag('delivered'),
  };
}

export const RECOVERY_COMMANDS: readonly Command[] = [
  {
    words: 'recoveries start',
    summary: 'send again what a client was to be told since a moment and has not received',
    details:
      'Webhooks that have failed or wait for their hour, oldest first, under their original ids and with their original ' +
      'bytes, at a pace that leaves fresh ones their slots. It runs in the daemon, one at a time for each client.',
    options: {
      client: valued('ID|NAME', 'whose deliveries'),
      ...RANGE,
      ...SEARCH,
      'endpoint-url': valued('URL', 'those that went to this endpoint alone'),
      delivered: isSet('what was delivered as well'),
      watch: isSet('stay until it has ended, and show how far it is'),
    },
    example: 'vigie admin recoveries start --client Acme --since 6h --watch',
    async run(client, input) {
      const started = await call(client, client.stub.startRecovery, requestOf(input));
      showRecovery(input.flag('watch') ? await followed(client, started.name) : started, input.isJson);
    },
  },
  {
    words: 'recoveries list',
    summary: 'recoveries, newest first, those that clients have started among them',
    options: { ...CLIENT, ...PAGE },
    example: 'vigie admin recoveries list --client Acme',
    async run(client, { text, whole, isJson }) {
      const page = { pageSize: whole('limit'), pageToken: text('page-token') };
      const listed = await call(client, client.stub.listRecoveries, { ...page, client: clientNamed(text('client')) });
      if (isJson) return printJson(ListRecoveriesResponse.toJSON(listed));
      printTable(listed.recoveries, [
        { title: 'RECOVERY', value: ({ name }) => idOf(name) },
        { title: 'STATE', value: ({ state }) => stateOf(state) },
        { title: 'MATCHED', value: ({ matchedCount }) => matchedCount },
        { title: 'DELIVERED', value: ({ deliveredCount }) => deliveredCount },
        { title: 'FAILED', value: ({ failedCount }) => failedCount },
        { title: 'REMAINING', value: ({ remainingCount }) => remainingCount },
        { title: 'SINCE', value: ({ startTime }) => startTime },
        { title: 'CREATED', value: ({ createTime }) => createTime },
        { title: 'CLIENT', value: ({ client: whose }) => idOf(whose) },
      ]);
      if (listed.nextPageToken !== '') print(`more: --page-token ${listed.nextPageToken}`);
    },
  },
  {
    words: 'recoveries show',
    args: 'ID',
    summary: 'one recovery and how far it is',
    example: 'vigie admin recoveries show ID',
    async run(client, { args, isJson }) {
      const name = named('recoveries', args[0] as string);
      showRecovery(await call(client, client.stub.getRecovery, { name }), isJson);
    },
  },
  {
    words: 'recoveries watch',
    args: 'ID',
    summary: 'how far it is, until it has ended; Ctrl-C ends the watching alone',
    example: 'vigie admin recoveries watch ID',
    async run(client, { args, isJson }) {
      showRecovery(await followed(client, named('recoveries', args[0] as string)), isJson);
    },
  },
  {
    words: 'recoveries stop',
    args: 'ID',
    summary: 'send no more for it; what is under way goes on',
    example: 'vigie admin recoveries stop ID',
    async run(client, { args, isJson }) {
      const name = named('recoveries', args[0] as string);
      showRecovery(await call(client, client.stub.stopRecovery, { name }), isJson);
    },
  },
];
