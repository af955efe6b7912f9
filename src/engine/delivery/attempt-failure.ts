/** Why a request failed, as the attempt log records it. */

import type { AttemptError } from '../domain/delivery.ts';

/** Created where the failed stage is known; `message` is the reason in the log. */
export class AttemptFailure extends Error {
  readonly code = 'ATTEMPT_FAILED';
  readonly kind: AttemptError;

  constructor(kind: AttemptError, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The attempt was not made: too many DNS lookups are running, for this client or in total. */
export class NotAttempted extends AttemptFailure {
  constructor() {
    super('dns', 'too many names are being looked up: try again soon');
  }
}

/** Error codes of established connections; the connector creates its own `AttemptFailure`s. */
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
  // In TLS 1.3 the server may still refuse the client with an alert after the handshake.
  const isTls = code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');
  return new AttemptFailure(isTls ? 'tls' : (KINDS[code] ?? 'protocol'), describe(error), { cause: error });
}

export function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** If several addresses were tried, the error is an `AggregateError` without a message of its own. */
export function describe(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join('; ');
  return error.message || codeOf(error) || error.name;
}
