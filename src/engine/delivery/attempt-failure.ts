/** Why a request failed, in the words of the attempt log. */

import type { AttemptError } from '../domain/delivery.ts';

/** Made where the stage of the failure is known; `message` is the reason in the log. */
export class AttemptFailure extends Error {
  readonly code = 'ATTEMPT_FAILED';
  readonly kind: AttemptError;

  constructor(kind: AttemptError, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Too many names are being looked up for the client, or in all: the attempt was not made. */
export class NotAttempted extends AttemptFailure {
  constructor() {
    super('dns', 'too many names are being looked up: try again soon');
  }
}

/** Failures on an established connection; connecting makes its own `AttemptFailure`s. */
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
  // After the handshake of TLS 1.3 a server may still refuse the client by an alert.
  const isTls = code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');
  return new AttemptFailure(isTls ? 'tls' : (KINDS[code] ?? 'protocol'), describe(error), { cause: error });
}

export function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Several addresses tried give an `AggregateError` without a message of its own. */
export function describe(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join('; ');
  return error.message || codeOf(error) || error.name;
}
