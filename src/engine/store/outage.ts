/**
 * Which failures are transient errors of PostgreSQL: out of reach, shutting down, overloaded, without room, not letting us in, or
 * giving a statement up for the sake of others. They pass, so whoever meets one tries again or says 503. Every other
 * failure may be a bug, here or there (class XX of a statement): an actor tries it a few times more before it counts as
 * one (actor/supervisor.ts).
 */

import { CommitUnknownError } from './database.ts';

/** Classes of SQLSTATE (PostgreSQL, Appendix A), by their first two characters. */
const CLASSES: ReadonlySet<string> = new Set([
  '08', // connection exception
  '28', // the server does not know us now, for instance while its password is being changed
  '40', // transaction given up: serialization, deadlock, completion unknown
  '53', // insufficient resources: connections, memory, disk
  '57', // an operator's hand, a shutdown, a crash, a start, a time-out
  '58', // system error, of its disk mostly
]);

/** Single SQLSTATEs, where the rest of their class says something about the statement. */
const STATES: ReadonlySet<string> = new Set([
  '25006', // read-only transaction: a standby that is being promoted
  '25P03', // idle in transaction too long: this process was frozen
  '25P04', // transaction too long
  '42501', // a right is missing, for instance while somebody changes who has which
  '3D000', // the database is not there, for instance while it is being restored
  '55006', // object in use
  '55P03', // lock not available
]);

/** What sockets and the resolver of names say (errno of Node.js). */
const SOCKET_CODES: ReadonlySet<string> = new Set([
  ...['EAI_AGAIN', 'ECONNABORTED', 'ECONNREFUSED', 'ECONNRESET', 'EHOSTDOWN', 'EHOSTUNREACH', 'EMFILE', 'ENETDOWN'],
  ...['ENETUNREACH', 'ENFILE', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT'],
]);

/** What Node.js says of a certificate that is too old, too young or of nobody that it trusts, and of TLS. */
const TLS_CODES = /^(?:CERT_|CRL_|DEPTH_ZERO_|ERR_SSL_|ERR_TLS_|HOSTNAME_MISMATCH|SELF_SIGNED_|UNABLE_TO_|EPROTO$)/;

/** The pool's, of who has waited for a connection that others have. */
const NONE_LEFT = /^timeout exceeded when trying to connect$/;

/** What the client library and its pool say without any code. */
const SAYINGS: readonly RegExp[] = [
  NONE_LEFT,
  /^Connection terminated/,
  /^Client has encountered a connection error/,
  /^Client was closed/,
  /^Query read timeout$/,
  /^Cannot use a pool after calling end/,
  /^The server does not support SSL connections/,
  /^There was an error establishing an SSL connection/,
  /^SASL: /,
];

/** True when PostgreSQL gave up a statement that took longer than it may. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && (error as Error & { readonly code?: unknown }).code === '57014';
}

/** True when all connections of a pool were taken for as long as one may wait for them. */
export function isNoConnectionLeft(error: unknown): boolean {
  return error instanceof Error && NONE_LEFT.test(error.message);
}

/** True for a failure that says something about PostgreSQL and nothing about what it was asked. */
export function isDatabaseOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof CommitUnknownError) return true;
  const { code, syscall, severity } = error as Error & Record<'code' | 'syscall' | 'severity', unknown>;
  // It has ended the session, or let none begin: that says nothing of what was asked, or would have been.
  if (severity === 'FATAL' || severity === 'PANIC') return true;
  if (typeof code !== 'string') return SAYINGS.some((saying) => saying.test(error.message));
  // Its local socket is not there.
  if (code === 'ENOENT') return syscall === 'connect';
  if (SOCKET_CODES.has(code) || TLS_CODES.test(code)) return true;
  return STATES.has(code) || (code.length === 5 && CLASSES.has(code.slice(0, 2)));
}

/** Without room, broken or not letting anybody in: the same for whoever asks, whatever file or table it names. */
const REFUSES_ALL = /^(?:28|3D|42501|53|58|XX)/;

/** Of a server that answers: by what it refuses everybody's work alike; null for any other failure. */
export function databaseRefusal(error: Error): string | null {
  const { code } = error as Error & { readonly code?: unknown };
  return typeof code === 'string' && REFUSES_ALL.test(code) && isDatabaseOutage(error) ? code : null;
}

/** What may as well be a wrong setting: no such user, database or right. */
const REFUSED_FOR_GOOD = /^(?:28|3D|42501)/;

/**
 * Whether to wait, at a start, until PostgreSQL lets us in. `isKnown`: it has before. If not, it has to say itself that it
 * cannot now.
 */
export function isPassingRefusal(error: unknown, isKnown: boolean): boolean {
  if (isKnown) return isDatabaseOutage(error);
  const { code, severity } = error as Partial<Record<'code' | 'severity', unknown>>;
  return severity !== undefined && isDatabaseOutage(error) && !REFUSED_FOR_GOOD.test(String(code));
}
