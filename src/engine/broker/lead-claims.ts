/**
 * Detects that an instance with another database takes in the same adverts. Each leading instance answers requests with
 * its claim. A restored dump has the same label as the running original, so a claim carries the identity of the
 * database. The instance that has led longer continues.
 */

import { ErrorCode, NatsError, RequestStrategy } from 'nats';
import { type Broker, listen } from './connection.ts';

export interface LeadClaim {
  /** Distinguishes a database from its copies. */
  readonly databaseIdentity: string;
  /** The location of the database, shown to operators. */
  readonly address: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

const ANSWERS_WITHIN_MS = 500;
const NO_RESPONDERS: string = ErrorCode.NoResponders;

/** `claim` returns null while this instance does not lead. */
export function answerLeadClaims(broker: Broker, claim: () => LeadClaim | null): void {
  listen(broker, subjectOf(broker), (message) => {
    const own = claim();
    if (own !== null) message.respond(Buffer.from(JSON.stringify(own)));
  });
}

/** Rejects when NATS is unavailable. */
async function askLeadClaims(broker: Broker): Promise<readonly LeadClaim[]> {
  const claims: LeadClaim[] = [];
  const options = { strategy: RequestStrategy.Timer, maxWait: ANSWERS_WITHIN_MS };
  try {
    for await (const answer of await broker.connection.requestMany(subjectOf(broker), undefined, options)) {
      claims.push(answer.json<LeadClaim>());
    }
  } catch (error) {
    if (!(error instanceof NatsError && error.code === NO_RESPONDERS)) throw error;
  }
  return claims;
}

/**
 * Describes the longest-leading instance if it belongs to another database; null otherwise. `address` is the address of
 * this database. Rejects if NATS is unavailable.
 */
export async function findOtherLead(
  broker: Broker,
  { databaseIdentity, address }: Omit<LeadClaim, 'since'>,
): Promise<string | null> {
  const claims = await askLeadClaims(broker);
  const [first] = [...claims].sort((one, other) => one.since - other.since);
  if (first === undefined || first.databaseIdentity === databaseIdentity) return null;
  return (
    `Another service takes in adverts on this NATS under the same names, with the database ${first.address}. This ` +
    `service, with ${address}, takes no messages, because both would send the same notifications. Give a restored ` +
    'copy its own NATS server, set VIGIE_NAMESPACE for one of the two services, or stop the other service.'
  );
}

function subjectOf({ names }: Broker): string {
  return `${names.signals}.lead`;
}
