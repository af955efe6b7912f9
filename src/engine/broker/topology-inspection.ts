/** Looks at every stream and consumer of ours that is there: whether it can do its work, and whether it is another database's. */

import { type DatabaseLabel, labelText } from '../domain/database-label.ts';
import type { Broker } from './connection.ts';
import { consumersOf, isMissing, streamsOf } from './topology.ts';
import { consumerDifferences, type Differences, streamDifferences } from './topology-differences.ts';
import { labelling, ownerOf } from './topology-owner.ts';

export interface Inspection extends Differences {
  /** Whose some of them are instead of this database's; null when none is another's. */
  readonly foreign: string | null;
}

interface Found extends Differences {
  readonly name: string;
  readonly owner: DatabaseLabel | null;
}

/** What does not exist is in order: it is made when it is needed. Rejects when NATS is away. */
export async function inspectTopology(broker: Broker): Promise<Inspection> {
  const found = await findAll(broker);
  return {
    faults: found.flatMap(({ faults }) => faults),
    cautions: found.flatMap(({ cautions }) => cautions),
    foreign: foreignOf(broker, found),
  };
}

async function findAll(broker: Broker): Promise<readonly Found[]> {
  const { streams, consumers } = broker.manager;
  const found: Found[] = [];
  for (const wanted of streamsOf(broker)) {
    const info = await unlessMissing(streams.info(wanted.name));
    if (info === null) continue;
    const { config } = info;
    found.push({ name: `stream ${wanted.name}`, owner: ownerOf(config), ...streamDifferences(wanted, config) });
  }
  for (const wanted of consumersOf(broker)) {
    const info = await unlessMissing(consumers.info(wanted.stream, wanted.durable_name));
    if (info === null) continue;
    const name = `consumer ${wanted.durable_name} of ${wanted.stream}`;
    found.push({ name, owner: ownerOf(info.config), ...consumerDifferences(wanted, info.config) });
  }
  return found;
}

function foreignOf({ database }: Broker, found: readonly Found[]): string | null {
  if (database === null) return null;
  const foreign = found.flatMap(({ name, owner }) =>
    owner === null || owner.id === database.id ? [] : { name, owner },
  );
  const [first] = foreign;
  if (first === undefined) return null;
  const others = foreign.length > 1 ? ` and ${foreign.length - 1} more` : '';
  return (
    `${first.name}${others} belong to the database ${labelText(first.owner)}, and this one is ${labelText(database)}: ` +
    'nothing is taken, for each would take what is the other’s. Two services on one NATS need the name of a cell ' +
    '(VIGIE_CELL) for one of them; if the other database is gone, `vigie admin streams adopt` takes them over.'
  );
}

/**
 * Makes what is another database's this one's; positions and messages stay. Resolves with the names of what was taken
 * over, which `isTrial` only lists.
 */
export async function adoptTopology(broker: Broker, isTrial: boolean): Promise<readonly string[]> {
  const { streams, consumers } = broker.manager;
  const adopted: string[] = [];
  const isForeign = (owner: DatabaseLabel | null): owner is DatabaseLabel =>
    owner !== null && owner.id !== broker.database?.id;
  for (const { name } of streamsOf(broker)) {
    const info = await unlessMissing(streams.info(name));
    const owner = info === null ? null : ownerOf(info.config);
    if (info === null || !isForeign(owner)) continue;
    if (!isTrial) await streams.update(name, { ...info.config, ...labelling(broker) });
    adopted.push(`stream ${name} (${info.state.messages} messages) of ${labelText(owner)}`);
  }
  for (const { stream, durable_name: name } of consumersOf(broker)) {
    const info = await unlessMissing(consumers.info(stream, name));
    const owner = info === null ? null : ownerOf(info.config);
    if (info === null || !isForeign(owner)) continue;
    if (!isTrial) await consumers.update(stream, name, { ...info.config, ...labelling(broker) });
    const { num_pending, num_ack_pending } = info;
    adopted.push(
      `consumer ${name} of ${stream} (${num_pending + num_ack_pending} messages wait) of ${labelText(owner)}`,
    );
  }
  return adopted;
}

function unlessMissing<T>(asked: Promise<T>): Promise<T | null> {
  return asked.catch((error: Error) => {
    if (isMissing(error)) return null;
    throw error;
  });
}
