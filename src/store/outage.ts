/**
 * Which failures are PostgreSQL's trouble: out of reach, shutting down, overloaded, or giving a statement up for the
 * sake of others. They pass, so whoever meets one tries again or says 503. Every other failure may be a bug, here or there
 * (class XX): an actor tries it a few times more before it counts as one (actor/supervisor.ts).
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
  '3D000', // the database is not there, for instance while it is being restored
  '55006', // object in use
  '55P03', // lock not available
]);

/** What sockets and the resolver of names say (errno of Node.js). */
const SOCKET_CODES: ReadonlySet<string> = new Set([
  ...['EAI_AGAIN', 'ECONNABORTED', 'ECONNREFUSED', 'ECONNRESET', 'EHOSTDOWN', 'EHOSTUNREACH', 'EMFILE', 'ENETDOWN'],
  ...['ENETUNREACH', 'ENFILE', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT'],
]);

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
  const { code, syscall } = error as Error & { readonly code?: unknown; readonly syscall?: unknown };
  if (typeof code !== 'string') return SAYINGS.some((saying) => saying.test(error.message));
  // Its local socket is not there.
  if (code === 'ENOENT') return syscall === 'connect';
  return SOCKET_CODES.has(code) || STATES.has(code) || (code.length === 5 && CLASSES.has(code.slice(0, 2)));
}
