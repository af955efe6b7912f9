/** Why NATS cannot be used at a start, in words for the operator: which server, where, and what to do. */

import { ErrorCode } from 'nats';

export class BrokerUnreachableError extends Error {
  readonly code = 'NATS_UNREACHABLE';
}

/** What makes a reachable server unusable. */
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
  [ErrorCode.AuthorizationViolation]: ['it refuses user and password', 'Correct them in NATS_URL.'],
  // The same code as when no server answers.
  [ErrorCode.JetStreamNotEnabled]: ['it has no JetStream', 'Switch JetStream on: config/nats-server.conf shows how.'],
  [ErrorCode.ConnectionRefused]: ['connection refused', START_OR_CORRECT],
};

/** `url`: of one server or several. The message leaves out user and password. */
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
  const { code, message, chainedError } = cause;
  return KNOWN[code ?? ''] ?? [chainedError?.message ?? message, START_OR_CORRECT];
}
