/**
 * Classifies errors of NATS. An error is transient if NATS is unreachable, does not answer or refuses the user. Any
 * refusal by JetStream is transient too, for example of a missing stream. Any other error of NATS is a bug.
 */

import { ErrorCode, NatsError } from 'nats';

/** NATS did not store a message, or did not answer a valid request. */
export class BrokerUnavailableError extends Error {
  readonly code = 'BROKER_UNAVAILABLE';
}

/** JetStream did not answer, or its leader may lag behind or be cut off. */
export class BrokerSilentError extends BrokerUnavailableError {}

const CODES: ReadonlySet<string> = new Set([
  ErrorCode.AccountExpired,
  ErrorCode.AuthenticationExpired,
  ErrorCode.AuthenticationTimeout,
  ErrorCode.AuthorizationViolation,
  ErrorCode.ConnectionClosed,
  ErrorCode.ConnectionDraining,
  ErrorCode.ConnectionRefused,
  ErrorCode.ConnectionTimeout,
  ErrorCode.Disconnect,
  ErrorCode.JetStream408RequestTimeout,
  ErrorCode.JetStream409,
  ErrorCode.JetStreamIdleHeartBeat,
  ErrorCode.NoResponders,
  ErrorCode.PermissionsViolation,
  ErrorCode.RequestError,
  ErrorCode.SubClosed,
  ErrorCode.SubDraining,
  ErrorCode.Timeout,
]);

/** True if the request failed without a valid answer of JetStream. The log shows all such errors as one error. */
export function isBrokerSilence(error: unknown): boolean {
  if (error instanceof BrokerSilentError) return true;
  return error instanceof NatsError && error.api_error === undefined && CODES.has(error.code);
}

/** True if the error is transient. */
export function isBrokerOutage(error: unknown): boolean {
  if (error instanceof BrokerUnavailableError) return true;
  if (!(error instanceof NatsError)) return false;
  // Any refusal by JetStream's API, for example a missing or full stream, or a cluster without a leader.
  return error.api_error !== undefined || CODES.has(error.code);
}

/** Prefers the server's description, because for some refusals the client library's message is only a number. */
export function brokerReason(error: Error): string {
  return (error instanceof NatsError && error.api_error?.description) || error.message;
}

/** Excludes "insufficient storage resources": it refuses room for a new stream, but existing streams still work. */
const NO_ROOM = /no space left|insufficient resources/i;

/** True if JetStream has no room left, on its disk or within the limits of the server. */
export function isBrokerFull(error: Error): boolean {
  return isBrokerOutage(error) && NO_ROOM.test(brokerReason(error));
}

/** JetStream's code for "temporarily unavailable". */
export const NO_LEADER = 10_008;

export function isNatsError(error: unknown, code: number): boolean {
  return error instanceof NatsError && error.api_error?.err_code === code;
}

class BrokerUnreachableError extends Error {
  readonly code = 'NATS_UNREACHABLE';
}

/** A server is reachable but unsuitable. */
export class BrokerUnfitError extends Error {
  readonly remedy: string;

  constructor(reason: string, remedy: string) {
    super(reason);
    this.remedy = remedy;
  }
}

interface ConnectionError {
  readonly code?: string;
  readonly message: string;
  readonly chainedError?: Error;
}

const START_OR_CORRECT = 'Start it there, or correct NATS_URL.';

const KNOWN: Readonly<Record<string, readonly [reason: string, remedy: string]>> = {
  [ErrorCode.AuthorizationViolation]: ['it refuses the user or password', 'Correct them in NATS_URL.'],
  // The client uses this code if nothing listens for requests to JetStream.
  [ErrorCode.JetStreamNotEnabled]: ['it has no JetStream', 'Enable JetStream as in config/nats-server.conf.'],
  [ErrorCode.ConnectionRefused]: ['connection refused', START_OR_CORRECT],
};

const WITHOUT_LEADER = [
  'its JetStream has no leader',
  'Make sure that most servers of the cluster run and reach each other.',
] as const;

/** `url` names one or more servers. The message omits the user and the password. */
export function brokerUnreachable(url: string, cause: ConnectionError): BrokerUnreachableError {
  const addresses = url.split(',').map((each) => {
    const { hostname, port } = new URL(each.trim());
    return `${hostname}:${port || 4222}`;
  });
  const [reason, remedy] = explain(cause);
  return new BrokerUnreachableError(`NATS at ${addresses.join(', ')} cannot be used (${reason}). ${remedy}`, { cause });
}

function explain(cause: ConnectionError): readonly [reason: string, remedy: string] {
  if (cause instanceof BrokerUnfitError) return [cause.message, cause.remedy];
  if (isNatsError(cause, NO_LEADER)) return WITHOUT_LEADER;
  const { code, message, chainedError } = cause;
  return KNOWN[code ?? ''] ?? [chainedError?.message ?? message, START_OR_CORRECT];
}
