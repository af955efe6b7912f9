/**
 * Which failures are transient errors of NATS: unreachable, without JetStream or a stream at the moment, or not
 * answering. They pass; every other failure is a bug.
 */

import { ErrorCode, NatsError } from 'nats';

/** JetStream failed to store or answer a valid request. */
export class BrokerUnavailableError extends Error {
  readonly code = 'BROKER_UNAVAILABLE';
}

/** JetStream did not answer. */
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

/** True when NATS did not answer: all works count it as one error. */
export function isBrokerSilence(error: unknown): boolean {
  if (error instanceof BrokerSilentError) return true;
  return error instanceof NatsError && error.api_error === undefined && CODES.has(error.code);
}

/** True for a failure that concerns NATS itself and not the request. */
export function isBrokerOutage(error: unknown): boolean {
  if (error instanceof BrokerUnavailableError) return true;
  if (!(error instanceof NatsError)) return false;
  // Any refusal of JetStream's API: a missing or full stream, a cluster without a leader.
  return error.api_error !== undefined || CODES.has(error.code);
}
