/**
 * Which failures are transient errors of NATS: out of reach, without JetStream or a stream at this moment, or not answering. They
 * pass; every other failure is a bug.
 */

import { ErrorCode, NatsError } from 'nats';

/** JetStream did not take or answer something that it should have. */
export class BrokerUnavailableError extends Error {
  readonly code = 'BROKER_UNAVAILABLE';
}

/** It answered nothing at all. */
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

/** True when NATS did not answer: that counts as one error, whatever work met it. */
export function isBrokerSilence(error: unknown): boolean {
  if (error instanceof BrokerSilentError) return true;
  return error instanceof NatsError && error.api_error === undefined && CODES.has(error.code);
}

/** True for a failure that says something about NATS and nothing about what it was asked. */
export function isBrokerOutage(error: unknown): boolean {
  if (error instanceof BrokerUnavailableError) return true;
  if (!(error instanceof NatsError)) return false;
  // Whatever JetStream's own interface refuses: a stream that is gone or full, a cluster without a leader.
  return error.api_error !== undefined || CODES.has(error.code);
}
