/**
 * Chooses among the servers of `DATABASE_URL`. As in libpq, the URL may name a primary and its standbys
 * (`postgres://user@host1:5432,host2:5432/vigie?target_session_attrs=read-write`; PostgreSQL, "Connection Strings"),
 * which may change roles at any time. Before the first connection, and after a connection breaks, Vigie asks all
 * servers at once whether they accept writes. So a promotion affects the service like a restart of PostgreSQL.
 */

import { Socket } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import pg, { type DatabaseError } from 'pg';
import { endsWithin } from '../actor/waiting.ts';

/**
 * A socket that stays corked until the end of the tick. The client library corks each statement separately. With an
 * ordinary socket, ten statements in a pipeline would need ten system calls and wake the server ten times.
 */
export class CorkedSocket extends Socket {
  #isHolding = false;

  override cork(): void {
    super.cork();
    if (this.#isHolding) return;
    this.#isHolding = true;
    super.cork();
    process.nextTick(() => {
      this.#isHolding = false;
      this.uncork();
    });
  }
}

export interface DatabaseServers {
  /** The URL of one server, because the client library does not support several. */
  readonly url: string;
  /** Creates the `stream` of a client. If there are several servers, it connects to the one that accepts writes. */
  readonly openSocket: (client?: { readonly ssl?: unknown }) => Socket;
}

/** `DATABASE_URL` is invalid, or names something that Vigie does not support. */
export class DatabaseUrlError extends Error {
  readonly code = 'DATABASE_URL_UNUSABLE';
}

/** No server accepts writes. `code` is 25006 if a server is read-only; otherwise that of the first server's failure. */
class NoPrimaryError extends Error {
  readonly code: string;

  constructor(reasons: readonly string[], code: string) {
    super(`no server of DATABASE_URL accepts writes: ${reasons.join('; ')}`);
    this.code = code;
  }
}

interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

const PORT = 5432;
const READ_ONLY = '25006';
const ANSWER_MAX_MS = 3_000;
/** The supported values of `target_session_attrs`. The other values prefer or require a server that refuses writes. */
const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary'];

/** Throws `DatabaseUrlError`. */
export function databaseServers(databaseUrl: string): DatabaseServers {
  const { urls, isChoice } = readUrl(databaseUrl);
  const [url = databaseUrl] = urls;
  if (!isChoice) return { url, openSocket: () => new CorkedSocket() };
  const choice = new Choice(urls);
  return {
    url,
    openSocket(client) {
      trustAll(
        client?.ssl,
        urls.map((each) => serverAddressOf(each).host),
      );
      return new PrimarySocket(choice);
    },
  };
}

/** Returns one URL per server. If there are several, they lack the parameters that select among servers. */
function readUrl(databaseUrl: string): { readonly urls: readonly string[]; readonly isChoice: boolean } {
  const [, start = '', user = '', authority = '', rest = ''] =
    /^(postgres(?:ql)?:\/\/)((?:[^/?]*@)?)([^/?@]*)(.*)$/s.exec(databaseUrl) ?? [];
  const [path = '', query = ''] = rest.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  const attributes = parameters.get('target_session_attrs');
  if (attributes !== null && !SESSION_ATTRIBUTES.includes(attributes)) {
    throw new DatabaseUrlError(
      `DATABASE_URL: target_session_attrs=${attributes} is not supported, because Vigie writes. Set it to read-write.`,
    );
  }
  const hosts = (parameters.get('host') ?? '').split(',');
  if (authority === '' && hosts.length === 1) return { urls: [databaseUrl], isChoice: false };
  const ports = (parameters.get('port') ?? '').split(',');
  const servers =
    authority === '' ? hosts.map((host, i) => `${host}:${ports[i] ?? ports[0] ?? ''}`) : authority.split(',');
  const isChoice = servers.length > 1 || attributes === 'read-write' || attributes === 'primary';
  parameters.delete('target_session_attrs');
  if (authority === '') for (const name of ['host', 'port']) parameters.delete(name);
  const tail = parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
  const urls = servers.map((server) => `${start}${user}${server.replace(/:$/, '')}${tail}`);
  if (!urls.every((url) => URL.canParse(url)))
    throw new DatabaseUrlError('DATABASE_URL has an invalid host or port. Name each server as host:port.');
  return { urls, isChoice };
}

function serverAddressOf(url: string): ServerAddress {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[(.+)\]$/, '$1'), port: port === '' ? PORT : Number(port) };
}

/**
 * The last known server that accepts writes. The choice is kept until a socket breaks or the last one closes, because
 * without sockets nothing shows that the server is gone.
 */
class Choice {
  readonly #urls: readonly string[];
  #known: Promise<ServerAddress> | null = null;
  #sockets = 0;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /** Rejects with `NoPrimaryError`. */
  address(): Promise<ServerAddress> {
    const requested = this.#known ?? this.#ask();
    this.#known = requested;
    requested.catch(() => this.forget(requested));
    return requested;
  }

  countUntilClosed(socket: Socket): void {
    this.#sockets++;
    socket.once('close', () => {
      this.#sockets--;
      if (this.#sockets === 0) this.forget();
    });
  }

  /** Forgets the choice `known`, unless another choice has replaced it. */
  forget(known: Promise<ServerAddress> | null = this.#known): void {
    if (this.#known === known) this.#known = null;
  }

  async #ask(): Promise<ServerAddress> {
    try {
      return await Promise.any(this.#urls.map(assertPrimary));
    } catch (error) {
      const { errors } = error as AggregateError & { readonly errors: readonly (Error & { readonly code?: string })[] };
      const reasons = errors.map(({ message }, i) => `${serverAddressOf(this.#urls[i] as string).host}: ${message}`);
      const codes = errors.map(({ code }) => code ?? 'ETIMEDOUT');
      throw new NoPrimaryError(reasons, codes.includes(READ_ONLY) ? READ_ONLY : (codes[0] as string));
    }
  }
}

async function assertPrimary(url: string): Promise<ServerAddress> {
  const { client, end } = createSession({ url, openSocket: () => new Socket() }, 'vigie', ANSWER_MAX_MS);
  try {
    await client.connect();
    const { rows } = await client.query<{ isReadOnly: boolean }>(
      `select pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as "isReadOnly"`,
    );
    if (rows[0]?.isReadOnly === true) throw Object.assign(new Error('it is read-only'), { code: READ_ONLY });
    return serverAddressOf(url);
  } finally {
    void end();
  }
}

/**
 * A session outside a pool, before its client connects. Each answer must arrive within `answerMaxMs`, unless its
 * statement sets `query_timeout`. `end` destroys the connection if the server does not answer, and never rejects.
 */
export function createSession({ url, openSocket }: DatabaseServers, name: string, answerMaxMs: number) {
  let socket: Socket | undefined;
  const client = new pg.Client({
    connectionString: url,
    stream(options?: { readonly ssl?: unknown }) {
      socket = openSocket(options);
      return socket;
    },
    connectionTimeoutMillis: answerMaxMs,
    query_timeout: answerMaxMs,
    application_name: name,
  });
  // The statement that fails reports a broken connection.
  client.on('error', () => undefined);
  return {
    client,
    async end(): Promise<void> {
      if (!(await endsWithin(client.end(), answerMaxMs))) socket?.destroy();
    },
  };
}

/** A socket that connects to the chosen server, not to the address that its client names. */
class PrimarySocket extends CorkedSocket {
  readonly #choice: Choice;

  constructor(choice: Choice) {
    super();
    this.#choice = choice;
    choice.countUntilClosed(this);
    // If the server ended the connection, it may be stopping. If this side ended it first, the choice stays.
    this.once('end', () => this.writableEnded || choice.forget());
    this.once('error', () => choice.forget());
  }

  override connect(): this {
    this.#choice.address().then(
      ({ host, port }) => this.destroyed || super.connect(port, host),
      (error: Error) => this.destroy(error),
    );
    return this;
  }
}

/** Accepts a certificate with the name of any of the `hosts`, because the client library checks only one name. */
function trustAll(ssl: unknown, hosts: readonly string[]): void {
  if (typeof ssl !== 'object' || ssl === null || 'checkServerIdentity' in ssl) return;
  Object.assign(ssl, {
    checkServerIdentity(_: string, certificate: Parameters<typeof checkServerIdentity>[1]) {
      const refusals = hosts.map((host) => checkServerIdentity(host, certificate));
      return refusals.includes(undefined) ? undefined : refusals[0];
    },
  });
}

export class DatabaseUnreachableError extends Error {
  readonly code = 'DATABASE_UNREACHABLE';
}

/** Remedies for the operator, by SQLSTATE (PostgreSQL, Appendix A). */
const REMEDIES: Readonly<Record<string, string>> = {
  [READ_ONLY]: 'Promote a standby, or name the primary in DATABASE_URL.',
  '28P01': 'Correct the user and password in DATABASE_URL.',
  '28000': 'Allow the user in pg_hba.conf, or correct DATABASE_URL.',
  '3D000': 'Create the database, or correct DATABASE_URL.',
  '42501': 'Grant the user of DATABASE_URL the right to connect.',
  '53100': 'Free some space on its disk.',
  '53300': 'Raise max_connections, or close other connections.',
  '57P03': 'It is starting or stopping. Try again.',
  XX000: 'Check whether its disk is full, and read its log.',
};

/**
 * The error for a start that cannot use PostgreSQL. The message has the address, the reason, and what the operator
 * should do; it omits user and password. `url` names one server or several.
 */
export function databaseUnreachable(url: string, cause: Error): DatabaseUnreachableError {
  const remedy = REMEDIES[(cause as DatabaseError).code ?? ''] ?? 'Start it there, or correct DATABASE_URL.';
  const message = `PostgreSQL at ${addressOf(url)} cannot be used (${reasonOf(cause)}). ${remedy}`;
  return new DatabaseUnreachableError(message, { cause });
}

/** `host:port/name`, without user and password. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return url.replace(/^\w+:\/\/(?:[^/?]*@)?/, '').replace(/\?.*$/s, '');
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'the local socket'}:${port || 5432}${pathname}`;
}

/** If a name has several addresses, the error has no message itself, but one error for each address. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join(', ');
  return error.message;
}
