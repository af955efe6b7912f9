/**
 * Classifies failures of PostgreSQL. After a transient error, the caller retries or answers 503. The lists below
 * define which errors are transient. Examples: PostgreSQL is unreachable, stopping, overloaded or out of space. Any
 * other failure may be a bug of ours or of PostgreSQL (class XX). An actor usually retries it a few times before it
 * counts as a bug (actor/supervisor.ts).
 */

import { CommitUnknownError } from './database.ts';

/** Transient classes of SQLSTATE (PostgreSQL, Appendix A), by their first two characters. */
const CLASSES: ReadonlySet<string> = new Set([
  '08', // connection exception
  '28', // the server refuses the credentials, for example during a change of the password
  '40', // transaction rolled back: serialization, deadlock, completion unknown
  '53', // insufficient resources: connections, memory, disk
  '57', // operator intervention, shutdown, crash, start, timeout
  '58', // system error, mostly of the disk
]);

/** Transient SQLSTATEs in classes whose other members are errors of the statement. */
const STATES: ReadonlySet<string> = new Set([
  '25006', // read-only transaction: a standby that is being promoted
  '25P03', // idle in transaction too long: this process was frozen
  '25P04', // transaction too long
  '42501', // a privilege is missing, for example while an operator changes privileges
  '3D000', // the database does not exist, for example while it is being restored
  '55006', // object in use
  '55P03', // lock not available
]);

/** Errors of sockets and of name resolution (errno of Node.js). */
const SOCKET_CODES: ReadonlySet<string> = new Set([
  ...['EAI_AGAIN', 'ECONNABORTED', 'ECONNREFUSED', 'ECONNRESET', 'EHOSTDOWN', 'EHOSTUNREACH', 'EMFILE', 'ENETDOWN'],
  ...['ENETUNREACH', 'ENFILE', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT'],
]);

/** Errors of Node.js about TLS, and about a certificate that has expired, is not yet valid or is not trusted. */
const TLS_CODES = /^(?:CERT_|CRL_|DEPTH_ZERO_|ERR_SSL_|ERR_TLS_|HOSTNAME_MISMATCH|SELF_SIGNED_|UNABLE_TO_|EPROTO$)/;

/** The pool's error if a caller has waited too long for a connection. */
const NONE_LEFT = /^timeout exceeded when trying to connect$/;

/** Errors without a code, from the client library and its pool. */
const SAYINGS: readonly RegExp[] = [
  NONE_LEFT,
  /^Connection terminated/,
  /^Client has encountered a connection error/,
  /^Client was closed/,
  /^Query read timeout$/,
  // A client outside a pool did not connect in time.
  /^timeout expired$/,
  /^Cannot use a pool after calling end/,
  /^The server does not support SSL connections/,
  /^There was an error establishing an SSL connection/,
  /^SASL: /,
];

/** True if PostgreSQL cancelled a statement, usually because it exceeded its time limit. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && (error as Error & { readonly code?: unknown }).code === '57014';
}

/** True if all connections of a pool were in use for the maximum waiting time. */
export function isNoConnectionLeft(error: unknown): boolean {
  return error instanceof Error && NONE_LEFT.test(error.message);
}

/** True if PostgreSQL's disk is full. */
export function isDatabaseFull(error: unknown): boolean {
  return error instanceof Error && (error as Error & { readonly code?: unknown }).code === '53100';
}

/** True for a transient error: PostgreSQL failed, not the statement. */
export function isDatabaseOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof CommitUnknownError) return true;
  const { code, syscall, severity } = error as Error & Record<'code' | 'syscall' | 'severity', unknown>;
  // PostgreSQL has ended or refused the session, which does not depend on the statement.
  if (severity === 'FATAL' || severity === 'PANIC') return true;
  if (typeof code !== 'string') return SAYINGS.some((saying) => saying.test(error.message));
  // `connect` fails with this code if the local socket of the server does not exist.
  if (code === 'ENOENT') return syscall === 'connect';
  if (SOCKET_CODES.has(code) || TLS_CODES.test(code)) return true;
  return STATES.has(code) || (code.length === 5 && CLASSES.has(code.slice(0, 2)));
}

/** The server lacks resources, is broken or refuses access, so other statements probably fail, too. */
const REFUSES_ALL = /^(?:28|3D|42501|53|58|XX)/;

/** The SQLSTATE of an error that probably concerns all work on a reachable server; null for any other failure. */
export function databaseRefusal(error: Error): string | null {
  const { code } = error as Error & { readonly code?: unknown };
  return typeof code === 'string' && REFUSES_ALL.test(code) && isDatabaseOutage(error) ? code : null;
}

/** Refusals that may be due to a wrong setting: wrong credentials, an unknown database, or a missing permission. */
const REFUSED_FOR_GOOD = /^(?:28|3D|42501)/;

/**
 * Whether a start should wait for PostgreSQL. If an earlier connection succeeded (`isKnown`), it should wait after any
 * outage. Otherwise it should wait only if PostgreSQL itself reports a temporary condition.
 */
export function isPassingRefusal(error: unknown, isKnown: boolean): boolean {
  if (isKnown) return isDatabaseOutage(error);
  const { code, severity } = error as Partial<Record<'code' | 'severity', unknown>>;
  return severity !== undefined && isDatabaseOutage(error) && !REFUSED_FOR_GOOD.test(String(code));
}
