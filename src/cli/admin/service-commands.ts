/** `vigie admin`: status, stages, index and the live view. */

import { once } from 'node:events';
import { Activity } from '../../admin/generated/vigie/admin/v1/activity.ts';
import { Index, IndexedSearch } from '../../admin/generated/vigie/admin/v1/matching.ts';
import {
  AdoptStreamsResponse,
  type FailingActor,
  Stage,
  Status,
  type Stream,
} from '../../admin/generated/vigie/admin/v1/status.ts';
import { print } from '../terminal.ts';
import { AdminCallError, type AdminClient, call } from './client.ts';
import {
  type Command,
  ENDPOINT,
  endpointNamed,
  type Input,
  flag as isSet,
  named,
  PAUSE_REASON,
  SEARCH,
  valued,
} from './command.ts';
import { idOf, printFacts, printJson, printTable, stateOf, withoutBlanks } from './output.ts';

function showStages(stages: readonly Stage[]): void {
  printTable(stages, [
    { title: 'STAGE', value: ({ name }) => idOf(name) },
    { title: 'STATE', value: ({ state }) => stateOf(state) },
    { title: 'IN FLIGHT', value: ({ inFlight }) => inFlight },
    { title: 'INSTANCES', value: ({ instanceCount }) => instanceCount },
    { title: 'PAUSED SINCE', value: ({ pauseTime }) => pauseTime },
    { title: 'REASON', value: ({ pauseReason }) => pauseReason },
  ]);
}

function showIndex({ instances, storedSearchCount }: Index): void {
  printFacts({ 'searches stored': storedSearchCount });
  for (const { instance, searchCount, buildTime, figures } of instances) {
    print();
    printFacts({ instance: idOf(instance), searches: searchCount, built: buildTime, ...figures });
  }
}

function showStreams(streams: readonly Stream[]): void {
  printTable(streams, [
    { title: 'STREAM', value: ({ name }) => idOf(name) },
    { title: 'MESSAGES', value: ({ messageCount }) => messageCount },
    { title: 'BYTES', value: ({ byteCount }) => byteCount },
    { title: 'PENDING', value: ({ pendingCount }) => pendingCount },
    { title: 'UNACKNOWLEDGED', value: ({ ackPendingCount }) => ackPendingCount },
  ]);
}

function showStatus(status: Status): void {
  printFacts({
    version: status.version,
    'failed deliveries': status.failedDeliveryCount,
    'dead letters': status.deadLetterCount,
    'paused endpoints': status.pausedEndpointCount,
    'oldest due': status.oldestDueTime,
    'intake led since': status.intakeLead?.beginTime,
    'intake takeover took': secondsOf(status.intakeLead?.gapSeconds),
    'intake without a leader for': secondsOf(status.intakeLead?.leaderlessSeconds),
    'searches stored': status.index?.storedSearchCount,
    ...Object.fromEntries(status.openDeliveries.map(({ state, count }) => [`deliveries ${state}`, count])),
  });
  print();
  showStages(status.stages);
  print();
  if (status.streams.length === 0) print('NATS cannot be reached: nothing is known of the streams');
  else showStreams(status.streams);
  print();
  printTable(status.instances, [
    { title: 'INSTANCE', value: ({ name }) => idOf(name) },
    { title: 'HOST', value: ({ host, processId }) => `${host}:${processId}` },
    { title: 'VERSION', value: ({ version }) => version },
    { title: 'ROLES', value: ({ roles }) => roles.join(',') },
    { title: 'INTAKE', value: ({ roles, leadsIntake }) => (roles.includes('intake') ? standingOf(leadsIntake) : '') },
    { title: 'FAILING', value: ({ failingActors }) => failingActors.map(failureOf).join('; ') },
    { title: 'STARTED', value: ({ startTime }) => startTime },
  ]);
}

function secondsOf(seconds = 0): string {
  return `${seconds.toFixed(1)} s`;
}

function failureOf({ actor, failingSeconds, reason }: FailingActor): string {
  return `${actor} for ${failingSeconds} s: ${reason}`;
}

function standingOf(leads: boolean): string {
  return leads ? 'leads' : 'stands by';
}

function stageCommand(verb: 'pause' | 'resume' | 'drain', summary: string): Command {
  const takesReason = verb !== 'resume';
  return {
    words: `stages ${verb}`,
    args: 'STAGE',
    summary,
    ...(takesReason ? { options: PAUSE_REASON } : {}),
    example: `vigie admin stages ${verb} deliver${takesReason ? " --reason 'certificate of the proxy'" : ''}`,
    async run(client, { args, text, isJson }) {
      const name = named('stages', args[0] as string);
      const { stub } = client;
      const stage = await (verb === 'resume'
        ? call(client, stub.resumeStage, { name })
        : call(client, verb === 'pause' ? stub.pauseStage : stub.drainStage, { name, reason: text('reason') }));
      if (isJson) printJson(Stage.toJSON(stage));
      else showStages([stage]);
    },
  };
}

async function watch(client: AdminClient, { text, flag, isJson }: Input): Promise<void> {
  const request = {
    kinds: text('kinds') === '' ? [] : text('kinds').split(','),
    search: named('searches', text('search')),
    property: named('properties', text('property')),
    endpoint: endpointNamed(text('endpoint')),
    failuresOnly: flag('failures'),
  };
  const stream = client.stub.watchActivity(request, client.metadata, client.options());
  let isInterrupted = false;
  process.once('SIGINT', () => {
    isInterrupted = true;
    stream.cancel();
  });
  try {
    for await (const activity of stream as AsyncIterable<Activity>) {
      const line = isJson ? JSON.stringify(Activity.toJSON(activity)) : describe(activity);
      if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
    }
  } catch (error) {
    if (!isInterrupted) throw new AdminCallError(error as never, client.stub.getChannel().getTarget());
  }
}

function describe({ time, skippedCount, fact }: Activity): string {
  const skipped = skippedCount > 0 ? `(${skippedCount} skipped) ` : '';
  return `${time?.toISOString() ?? ''}  ${skipped}${describeFact(fact)}`;
}

function describeFact(fact: Activity['fact']): string {
  switch (fact?.$case) {
    case 'change': {
      const { property, kind, field, oldValue, newValue } = fact.value;
      return `change   ${property}  ${kind}${field === '' ? '' : `  ${field} ${oldValue} → ${newValue}`}`;
    }
    case 'match':
      return `match    ${fact.value.search}  ${fact.value.property}`;
    case 'attempt': {
      const { delivery, endpoint, number, error, statusCode, durationMs, state } = fact.value;
      const end = error === '' ? statusCode : `${error} ${statusCode || ''}`.trim();
      return `attempt  ${delivery}  ${endpoint}  #${number} ${end}  ${durationMs} ms  ${state}`;
    }
    case undefined:
      return 'something that this version does not know';
  }
}

export const SERVICE_COMMANDS: readonly Command[] = [
  {
    words: 'status',
    summary: 'instances, stages, streams, what waits and what failed',
    example: 'vigie admin status',
    async run(client, { isJson }) {
      const status = await call(client, client.stub.getStatus, {});
      if (isJson) printJson(Status.toJSON(status));
      else showStatus(status);
    },
  },
  stageCommand('pause', 'take up no new work; nothing is lost. STAGE: intake or deliver'),
  stageCommand('resume', 'take up work again'),
  stageCommand('drain', 'pause, and wait until nothing is under way'),
  {
    words: 'streams adopt',
    summary: 'take over the streams and consumers that another database has made under this cell’s names',
    details: 'Their messages and positions stay. Refused while that one still takes adverts in.',
    options: { 'dry-run': isSet('say what would be taken over, and change nothing') },
    example: 'vigie admin streams adopt --dry-run',
    async run(client, { flag, isJson }) {
      const validateOnly = flag('dry-run');
      const response = await call(client, client.stub.adoptStreams, { validateOnly });
      if (isJson) return printJson(AdoptStreamsResponse.toJSON(response));
      for (const each of response.adopted) print(`${validateOnly ? 'would take over' : 'took over'} the ${each}`);
      if (response.adopted.length === 0) print('nothing here is another database’s');
    },
  },
  {
    words: 'index show',
    summary: 'what the search index of every instance holds',
    example: 'vigie admin index show',
    async run(client, { isJson }) {
      const index = await call(client, client.stub.getIndex, {});
      if (isJson) printJson(Index.toJSON(index));
      else showIndex(index);
    },
  },
  {
    words: 'index rebuild',
    summary: 'read every search anew, on every instance',
    example: 'vigie admin index rebuild',
    async run(client, { isJson }) {
      const index = await call(client, client.stub.rebuildIndex, {});
      if (isJson) printJson(Index.toJSON(index));
      else showIndex(index);
    },
  },
  {
    words: 'index search',
    args: 'SEARCH',
    summary: 'one search as the matcher understands it',
    example: 'vigie admin index search SEARCH',
    async run(client, { args, isJson }) {
      const found = await call(client, client.stub.getIndexedSearch, { name: named('searches', args[0] as string) });
      if (isJson) return printJson(IndexedSearch.toJSON(found));
      const { criteriaJson, ...facts } = found;
      printFacts({ ...facts, criteria: withoutBlanks(criteriaJson) });
    },
  },
  {
    words: 'watch',
    summary: 'changes, matches and attempts as they happen, until Ctrl-C',
    details: 'A window, not a log: what a slow reader misses is counted.',
    options: {
      kinds: valued('KINDS', 'changes,matches,attempts or some of them'),
      ...SEARCH,
      property: valued('ID', 'of this property alone'),
      ...ENDPOINT,
      failures: isSet('attempts that did not deliver, and nothing else'),
    },
    example: 'vigie admin watch --failures --json | jq .attempt.error',
    run: watch,
  },
];
