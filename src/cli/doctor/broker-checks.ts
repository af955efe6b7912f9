/** NATS checks of the manual, and whether streams and consumers can do their work. */

import type { Broker } from '../../engine/broker/connection.ts';
import { inspectTopology } from '../../engine/broker/topology-inspection.ts';
import { bytesText, diskFinding, type Finding, findingsAbout } from './finding.ts';

const { fine, lookAt, wrong, unknown } = findingsAbout('NATS');

/** Earlier servers cannot sync each write. */
const SYNCING_SINCE = [2, 10] as const;
const MESSAGE_BYTES_LEAST = 1_048_576;

/** `embeddedIn`: the directory of the embedded server; null when NATS is configured. Rejects when it goes away. */
export async function checkBroker(broker: Broker, embeddedIn: string | null): Promise<readonly Finding[]> {
  const { faults, cautions, foreign } = await inspectTopology(broker);
  const streams = [
    ...(foreign === null ? [] : [wrong(foreign)]),
    ...faults.map((fault) => wrong(fault, 'edit it with the nats CLI, or delete it while the daemons are stopped')),
    ...cautions.map((caution) => lookAt(caution)),
  ];
  return [
    ...serverFindings(broker, embeddedIn),
    ...(streams.length === 0 ? [fine('streams and consumers are in order')] : streams),
    ...(embeddedIn === null ? [] : [await diskFinding('NATS', embeddedIn)]),
  ];
}

function serverFindings({ serverVersion, connection }: Broker, embeddedIn: string | null): readonly Finding[] {
  const [major = 0, minor = 0] = serverVersion.split('.').map(Number);
  const canSync = major > SYNCING_SINCE[0] || (major === SYNCING_SINCE[0] && minor >= SYNCING_SINCE[1]);
  const bytesMax = connection.info?.max_payload ?? MESSAGE_BYTES_LEAST;
  return [
    canSync
      ? fine(`version ${serverVersion}`)
      : lookAt(
          `version ${serverVersion} syncs every two minutes, a power cut may take the last ones`,
          'install 2.10 or newer',
        ),
    ...(canSync && embeddedIn === null
      ? [unknown('a client cannot ask whether it syncs every write', 'its configuration needs sync_interval: always')]
      : []),
    ...(bytesMax < MESSAGE_BYTES_LEAST
      ? [lookAt(`max_payload is ${bytesText(bytesMax)}, larger adverts are refused`, 'set max_payload: 1MB')]
      : []),
  ];
}
