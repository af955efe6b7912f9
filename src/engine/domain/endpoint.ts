/**
 * Keys and observed states of endpoints. Each pair of a client and a URL is a separate endpoint, so that clients with
 * the same URL neither see nor delay one another. The length of a key shows its kind:
 *
 * - 32 hexadecimal digits identify one client's endpoint: the URL (16), the client (8) and the host (8).
 * - 16 digits identify the URL alone. If an operator pauses this key, the URL is paused for every client.
 */

import { createHash } from 'node:crypto';
import type { AttemptError, AttemptOutcome } from './delivery.ts';
import type { Uuid } from './ids.ts';

export const URL_DIGITS = 16;
const OWNER_DIGITS = 8;

/** A cache: every delivery needs a key, and its two hashes take as long as matching an advert. */
const known = new Map<string, string>();
const KNOWN_MAX = 10_000;

/** The key of a client's endpoint. It is valid as a token of a NATS subject. */
export function endpointKeyOf(clientId: Uuid, url: string): string {
  const requested = `${clientId}${url}`;
  const key = known.get(requested) ?? madeKey(clientId, url);
  if (known.size === KNOWN_MAX) known.clear();
  known.set(requested, key);
  return key;
}

function madeKey(clientId: Uuid, url: string): string {
  const { text, host } = normalised(url);
  // Clients have UUIDs of version 4, whose ends are random.
  return `${hexHash(text, URL_DIGITS)}${clientId.slice(-OWNER_DIGITS)}${hexHash(host, OWNER_DIGITS)}`;
}

/** The key of a URL, shared by all clients that use it. */
export function urlKeyOf(url: string): string {
  return hexHash(normalised(url).text, URL_DIGITS);
}

/** Ignores the case of scheme and host, a default port, an empty path, and the fragment, which is never sent. */
function normalised(url: string): { readonly text: string; readonly host: string } {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null) return { text: url, host: url };
  parsed.hash = '';
  return { text: parsed.href, host: parsed.hostname };
}

/** The key of the URL alone, from the key of any endpoint. */
export function urlKeyOfKey(key: string): string {
  return key.slice(0, URL_DIGITS);
}

/** The parts of a key that identify the client and the host. Both are empty in the key of a URL alone. */
export function partiesOf(key: string): { readonly client: string; readonly host: string } {
  const owners = key.slice(URL_DIGITS);
  return { client: owners.slice(0, OWNER_DIGITS), host: owners.slice(OWNER_DIGITS) };
}

function hexHash(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}

/** The observations of an endpoint that a courier has made and not yet stored. */
export interface EndpointObservation {
  readonly key: string;
  readonly url: string;
  readonly succeededAt: Date | null;
  readonly failedAt: Date | null;
  readonly lastError: AttemptError | null;
  /** Failures since the last success, or all failures if there was none. */
  readonly failuresSinceSuccess: number;
  /** Time of the first of these failures. */
  readonly failingSince: Date | null;
  /** One item for each of the last three observed attempts: its end if the answer was 410, otherwise null. */
  readonly goneAt: readonly (Date | null)[];
  /** Adaptive limit of concurrent attempts. */
  readonly concurrency: number;
}

/** An endpoint may be paused after this many failures in a row, if they span `VIGIE_ENDPOINT_PAUSE_DAYS` days. */
export const DEAD_FROM_FAILURES = 20;
/** An endpoint may also be paused after this many 410 answers in a row, the first and last at least an hour apart. */
export const DEAD_FROM_GONE = 3;
export const DEAD_GONE_SPAN_MS = 3_600_000;

type Observed = Omit<EndpointObservation, 'key' | 'concurrency'>;

const GONE = 410;

const NOTHING_OBSERVED = {
  succeededAt: null,
  failedAt: null,
  lastError: null,
  failuresSinceSuccess: 0,
  failingSince: null,
  goneAt: [],
} as const;

/** Adds an attempt. Ignores an aborted attempt, which shows nothing about the endpoint. */
export function observed(
  before: Observed | null,
  url: string,
  { error, statusCode, startedAt, durationMs }: AttemptOutcome,
): Observed | null {
  if (error === 'aborted') return before;
  const endedAt = new Date(startedAt.getTime() + durationMs);
  const former = before ?? NOTHING_OBSERVED;
  const goneAt = [...former.goneAt, statusCode === GONE ? endedAt : null].slice(-DEAD_FROM_GONE);
  if (error === null)
    return { ...former, url, goneAt, succeededAt: endedAt, failuresSinceSuccess: 0, failingSince: null };
  return {
    url,
    succeededAt: former.succeededAt,
    failedAt: endedAt,
    lastError: error,
    failuresSinceSuccess: former.failuresSinceSuccess + 1,
    failingSince: former.failingSince ?? endedAt,
    goneAt,
  };
}

/** The stored state of an endpoint, which a courier reads at its start. */
export interface RememberedEndpoint extends Pick<EndpointObservation, 'key' | 'lastError' | 'concurrency'> {
  readonly failureStreak: number;
  /** Whether the endpoint has ever answered 200. */
  readonly hasAnswered: boolean;
}

/** The causes of a pause. If there are several, the first cause in this order is shown. */
export const PAUSE_CAUSES = ['operator', 'client', 'failures'] as const;
export type PauseCause = (typeof PAUSE_CAUSES)[number];

export const ENDPOINT_STATES = ['healthy', 'failing', 'paused'] as const;
type EndpointState = (typeof ENDPOINT_STATES)[number];

/** Number of consecutive failures from which an endpoint counts as failing. */
export const FAILING_FROM = 3;

export interface EndpointHealth extends Omit<RememberedEndpoint, 'hasAnswered'> {
  readonly url: string;
  readonly state: EndpointState;
  readonly pausedBy: PauseCause | null;
  /** When the displayed cause began. */
  readonly pausedAt: Date | null;
  readonly failingSince: Date | null;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** Number of open deliveries. `oldestDueAt` is the earliest time at which one of them is or was due. */
  readonly backlog: number;
  readonly oldestDueAt: Date | null;
}
