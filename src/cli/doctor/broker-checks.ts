/** Checks NATS against the manual: its version and limits, streams and consumers, the backlog, and the disk. */

import { pause } from '../../engine/actor/waiting.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import { inspectTopology, readBacklog } from '../../engine/broker/topology-inspection.ts';
import { bytesText } from '../../local/disk-space.ts';
import { durationText } from '../progress.ts';
import { diskFinding, type Finding, findingsAbout } from './finding.ts';

const { fine, lookAt, wrong, unknown } = findingsAbout('NATS');

/** Earlier versions of nats-server cannot sync every write to disk, and their replicas have diverged (chaos test). */
const SYNCING_SINCE = [2, 10] as const;
const MESSAGE_BYTES_LEAST = 1_048_576;

/** `embeddedIn` is the directory of the embedded server, or null for an external one. Rejects if NATS is lost. */
export async function checkBroker(broker: Broker, embeddedIn: string | null): Promise<readonly Finding[]> {
  const { faults, cautions, foreign } = await inspectTopology(broker);
  const streams = [
    ...(foreign === null ? [] : [wrong(foreign)]),
    ...faults.map((fault) => wrong(fault, 'Correct it with the nats CLI, or delete it if it has no messages.')),
    ...cautions.map((caution) => lookAt(caution)),
  ];
  return [
    ...serverFindings(broker, embeddedIn),
    ...(streams.length === 0 ? [fine('Streams and consumers are in order.')] : streams),
    ...(await backlogFindings(broker)),
    ...(embeddedIn === null ? [] : [await diskFinding('NATS', embeddedIn)]),
  ];
}

/** Intake records hundreds of messages a second, so a shorter backlog is normal. */
const WAITING_MAX = 1_000;
const WAITING_MAX_SECONDS = 60;
const RATE_OVER_MS = 5_000;

/** Reads a long backlog twice, to estimate from the current rate when it will end. */
async function backlogFindings(broker: Broker): Promise<readonly Finding[]> {
  const first = await readBacklog(broker);
  if (first === null) return [];
  const seconds = first.oldestAt === null ? null : Math.max(0, (Date.now() - first.oldestAt.getTime()) / 1_000);
  const age = seconds === null ? '' : `, the oldest for ${durationText(seconds)}`;
  const text = `${first.waiting.toLocaleString('en')} adverts wait to be recorded${age}`;
  if (first.waiting <= WAITING_MAX && (seconds ?? 0) <= WAITING_MAX_SECONDS) return [fine(`${text}.`)];
  const beganAt = performance.now();
  await pause(RATE_OVER_MS);
  const last = await readBacklog(broker);
  const rate = (((last?.recorded ?? 0) - first.recorded) * 1_000) / (performance.now() - beganAt);
  if (rate <= 0) return [lookAt(`${text}, and none is being recorded.`, 'Run `vigie admin status` to see why.')];
  const left = durationText((last?.waiting ?? 0) / rate);
  return [lookAt(`${text}. At ${Math.ceil(rate).toLocaleString('en')} per second, recording them takes ${left}.`)];
}

function serverFindings({ serverVersion, connection }: Broker, embeddedIn: string | null): readonly Finding[] {
  const [major = 0, minor = 0] = serverVersion.split('.').map(Number);
  const canSync = major > SYNCING_SINCE[0] || (major === SYNCING_SINCE[0] && minor >= SYNCING_SINCE[1]);
  const bytesMax = connection.info?.max_payload ?? MESSAGE_BYTES_LEAST;
  return [
    canSync
      ? fine(`Version ${serverVersion}.`)
      : lookAt(
          `Version ${serverVersion} syncs to disk every two minutes, so a power cut may lose the last messages. ` +
            'The servers of a cluster may number the same messages differently.',
          'Install nats-server 2.10 or later.',
        ),
    ...(canSync && embeddedIn === null
      ? [unknown('A client cannot see whether NATS syncs every write.', 'Make sure that sync_interval is always.')]
      : []),
    ...(bytesMax < MESSAGE_BYTES_LEAST
      ? [lookAt(`max_payload is ${bytesText(bytesMax)}, so larger adverts are refused.`, 'Set max_payload: 1MB.')]
      : []),
  ];
}
