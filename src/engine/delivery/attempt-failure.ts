/** Why a request failed, as the attempt log records it. */

import type { AttemptError } from '../domain/delivery.ts';

/** Thrown where the failed step is known. The attempt log records `message` as the reason. */
export class AttemptFailure extends Error {
  readonly code = 'ATTEMPT_FAILED';
  readonly kind: AttemptError;

  constructor(kind: AttemptError, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The attempt was not made, because too many DNS lookups are in progress, for this client or in total. */
export class NotAttempted extends AttemptFailure {
  constructor() {
    super('dns', 'too many DNS lookups are in progress; try again soon');
  }
}

/** Error codes of established connections. The connector reports its own failures as `AttemptFailure`. */
const KINDS: Readonly<Record<string, AttemptError>> = {
  UND_ERR_SOCKET: 'reset',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
};

export function failureOf(error: Error): AttemptFailure {
  if (error instanceof AttemptFailure) return error;
  const code = codeOf(error);
  // In TLS 1.3 the server may reject the client with an alert even after the handshake.
  const isTls = code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');
  return new AttemptFailure(isTls ? 'tls' : (KINDS[code] ?? 'protocol'), describe(error), { cause: error });
}

export function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** If several addresses were tried, the error is an `AggregateError` without its own message. */
export function describe(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join('; ');
  return error.message || codeOf(error) || error.name;
}
