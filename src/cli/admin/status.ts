/** What `vigie admin status` and `index` show. */

import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { print } from '../terminal.ts';
import { columns, idOf, listOf, printFacts, printTable, textOf } from './output.ts';

export const STAGE_COLUMNS =
  'STAGE=name STATE=state IN_FLIGHT=inFlight INSTANCES=instanceCount PAUSED_SINCE=pauseTime REASON=pauseReason';
const STREAM_COLUMNS =
  'STREAM=name MESSAGES=messageCount BYTES=byteCount PENDING=pendingCount UNACKNOWLEDGED=ackPendingCount';

export function showStatus(status: JsonObject): void {
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
  if (streams.length === 0) print('NATS cannot be reached: nothing is known of the streams');
  else printTable(streams, columns(STREAM_COLUMNS));
  print();
  const rolesOf = ({ roles }: JsonObject) => (roles ?? []) as string[];
  printTable(listOf(status.instances), [
    ...columns('INSTANCE=name'),
    { title: 'HOST', value: ({ host, processId }) => `${textOf(host)}:${textOf(processId)}` },
    ...columns('VERSION=version'),
    { title: 'ROLES', value: (row) => rolesOf(row).join(',') },
    { title: 'INTAKE', value: (row) => (rolesOf(row).includes('intake') ? standingOf(row.leadsIntake) : '') },
    { title: 'FAILING', value: ({ failingActors }) => listOf(failingActors).map(failureOf).join('; ') },
    ...columns('STARTED=startTime'),
  ]);
}

export function showIndex({ instances, storedSearchCount }: JsonObject): void {
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

function failureOf({ actor, failingSeconds, reason }: JsonObject): string {
  return `${textOf(actor)} for ${textOf(failingSeconds)} s: ${textOf(reason)}`;
}

function standingOf(leads: JsonValue | undefined): string {
  return leads === true ? 'leads' : 'stands by';
}
