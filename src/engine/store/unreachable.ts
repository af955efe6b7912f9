/** Why PostgreSQL cannot be used at a start, in words for the operator: which server, where, and what to do. */

import type { DatabaseError } from 'pg';

export class DatabaseUnreachableError extends Error {
  readonly code = 'DATABASE_UNREACHABLE';
}

/** SQLSTATE (appendix A of PostgreSQL's manual) → the remedy. */
const REMEDIES: Readonly<Record<string, string>> = {
  '28P01': 'Correct user and password in DATABASE_URL.',
  '28000': 'Let the user in (pg_hba.conf), or correct DATABASE_URL.',
  '3D000': 'Create the database, or correct DATABASE_URL.',
  '42501': 'Let the user of DATABASE_URL connect to the database.',
  '53100': 'Make room on its disk.',
  '53300': 'Raise max_connections, or end what holds its connections.',
  '57P03': 'It is starting or stopping.',
  XX000: 'Look whether its disk is full, and into its log.',
};

/** `url`: of one server or several. The message leaves out user and password. */
export function databaseUnreachable(url: string, cause: Error): DatabaseUnreachableError {
  const remedy = REMEDIES[(cause as DatabaseError).code ?? ''] ?? 'Start it there, or correct DATABASE_URL.';
  return new DatabaseUnreachableError(
    `PostgreSQL at ${addressOf(url)} cannot be used (${reasonOf(cause)}). ${remedy}`,
    {
      cause,
    },
  );
}

/** `host:port/name`, without user and password. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return url.replace(/^\w+:\/\/(?:[^/?]*@)?/, '').replace(/\?.*$/s, '');
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'the local socket'}:${port || 5432}${pathname}`;
}

/** A name with several addresses fails with an error for each, and has no message of its own. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join(', ');
  return error.message;
}
