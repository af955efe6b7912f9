/**
 * The expiry of certificates: of files, of the public address as clients see it, of the servers that Vigie connects to.
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createConnection, isIP, type Socket } from 'node:net';
import { connect, TLSSocket } from 'node:tls';
import type { Config } from '../../config.ts';
import { isLoopback } from '../../config-conflicts.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import type { DatabasePool } from '../../engine/store/database.ts';
import { reasonOf } from '../terminal.ts';
import { type Finding, findingsAbout } from './finding.ts';

const ANSWER_MAX_MS = 5_000;
const DAY_MS = 86_400_000;
/** Time for an operator to renew it. */
const DAYS_LEFT_LEAST = 30;
/** Those of public addresses renew themselves, a month before their end or when a third of their time is left. */
const PUBLIC_DAYS_LEFT_LEAST = 14;
/** The last line of an answer of SMTP (RFC 5321, 4.2.1). */
const LAST_LINE = /^\d{3} [^\n]*\n/m;

/** Those of files that this process can read, and that of the public address as its clients see it. */
export async function checkCertificates({ admin, mail, api }: Config, now: Date): Promise<readonly Finding[]> {
  const files = [
    ['VIGIE_ADMIN_TLS_CERT', admin.certificate],
    ['VIGIE_ADMIN_CLIENT_CA', admin.clientAuthorities],
    ['VIGIE_SMTP_TLS_CA', mail?.authoritiesFile ?? null],
  ] as const;
  const ofFiles = files.flatMap(([setting, path]) => (path === null ? [] : [fileFinding(setting, path, now)]));
  return [...ofFiles, ...(api.publicUrl === null ? [] : [await publicFinding(new URL(api.publicUrl), now)])];
}

function fileFinding(setting: string, path: string, now: Date): Finding {
  try {
    return dateFinding(`${setting} (${path})`, new X509Certificate(readFileSync(path)), now);
  } catch (error) {
    return findingsAbout('TLS').wrong(`${setting} cannot be read (${(error as Error).message})`, 'name a PEM file');
  }
}

function dateFinding(what: string, { validFrom, validTo }: Dates, now: Date, daysLeftLeast = DAYS_LEFT_LEAST): Finding {
  const { fine, lookAt, wrong } = findingsAbout('TLS');
  const days = Math.floor((Date.parse(validTo) - now.getTime()) / DAY_MS);
  const day = new Date(validTo).toISOString().slice(0, 10);
  if (Date.parse(validFrom) > now.getTime()) return wrong(`${what} is not valid yet`, 'look at the clock');
  if (days < 0) return wrong(`${what} expired on ${day}`, 'renew it');
  if (days < daysLeftLeast) return lookAt(`${what} expires on ${day}, in ${days} days`, 'renew it');
  return fine(`${what} is valid until ${day}`);
}

async function publicFinding(url: URL, now: Date): Promise<Finding> {
  const { fine, lookAt, wrong, unknown } = findingsAbout('TLS');
  const host = hostOf(url);
  if (url.protocol === 'http:') {
    if (isLoopback(host)) return fine(`VIGIE_PUBLIC_URL is ${url.origin}, on this machine alone`);
    return lookAt(`VIGIE_PUBLIC_URL is ${url.origin}, API keys go there in clear`, 'put a proxy with TLS before it');
  }
  const shown = await open({ host, port: Number(url.port || 443) })
    .then((socket) => shownOn(socket, host))
    .catch((error: Error) => error);
  if (shown instanceof Error) {
    return unknown(`${url.origin} does not answer from here (${reasonOf(shown)})`, 'ask from elsewhere');
  }
  const { refusal } = shown;
  const dated = dateFinding(`certificate of ${url.origin}`, shown, now, PUBLIC_DAYS_LEFT_LEAST);
  if (dated.level === 'wrong' || refusal === null) return dated;
  return wrong(
    `certificate of ${url.origin} is refused (${refusal})`,
    'show the whole chain, of an authority that clients know',
  );
}

/** The certificate of the session's own connection; none for plaintext. Rejects when PostgreSQL goes away meanwhile. */
export async function databaseCertificate(database: DatabasePool, now: Date): Promise<readonly Finding[]> {
  const client = await database.connect();
  try {
    const { stream } = client.connection;
    return stream instanceof TLSSocket ? [dateFinding('certificate of PostgreSQL', datesOf(stream), now)] : [];
  } finally {
    client.release();
  }
}

/** The certificate of the server that answers; none for plaintext. */
export function brokerCertificate({ connection }: Broker, now: Date): Promise<readonly Finding[]> {
  const { tls_required: isRequired, tls_available: isOffered } = connection.info ?? {};
  if (isRequired !== true && isOffered !== true) return Promise.resolve([]);
  const server = new URL(`nats://${connection.getServer()}`);
  // The server sends its description first, and then waits for TLS.
  return serverFinding('NATS', { host: hostOf(server), port: Number(server.port) }, now, async (socket) => {
    await answerOf(socket, /\n/);
    return true;
  });
}

/** None for plaintext (RFC 3207). */
export function mailCertificate({ mail }: Config, now: Date): Promise<readonly Finding[]> {
  if (mail === null) return Promise.resolve([]);
  const url = new URL(mail.url);
  const isSecure = url.protocol === 'smtps:';
  const address = { host: hostOf(url), port: Number(url.port || (isSecure ? 465 : 587)) };
  return serverFinding('the mail server', address, now, async (socket) => {
    if (isSecure) return true;
    await answerOf(socket, LAST_LINE);
    socket.write('EHLO localhost\r\n');
    if (!/^250[- ]STARTTLS\s/im.test(await answerOf(socket, LAST_LINE))) return false;
    socket.write('STARTTLS\r\n');
    return (await answerOf(socket, LAST_LINE)).startsWith('220');
  });
}

/** `prepare`: the exchange before TLS; resolves with false where TLS is not offered. */
async function serverFinding(
  name: string,
  address: Address,
  now: Date,
  prepare: (socket: Socket) => Promise<boolean>,
): Promise<readonly Finding[]> {
  const what = `certificate of ${name}`;
  try {
    const socket = await open(address);
    if (await prepare(socket)) return [dateFinding(what, await shownOn(socket, address.host), now)];
    socket.destroy();
    return [];
  } catch (error) {
    return [findingsAbout('TLS').unknown(`${what} cannot be read (${reasonOf(error as Error)})`)];
  }
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Rejects when nothing answers there. A silent connection is closed. */
function open({ host, port }: Address): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port, timeout: ANSWER_MAX_MS }, () => resolve(socket));
    socket.on('error', reject);
    socket.on('timeout', () => socket.destroy(new Error('no answer in time')));
  });
}

interface Shown extends Dates {
  /** The certificate's fault; null: none. */
  readonly refusal: string | null;
}

/** The peer's certificate, valid or not; ends the connection. */
function shownOn(socket: Socket, host: string): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const secured = connect({ socket, host, ...name, rejectUnauthorized: false }, () => {
      const refusal = secured.authorized ? null : String(secured.authorizationError);
      resolve({ ...datesOf(secured), refusal });
      socket.destroy();
    });
    secured.on('error', reject);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('it closed the connection')));
  });
}

/** Resolves when the peer's message is complete. Rejects when the peer is silent. */
function answerOf(socket: Socket, whole: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const take = (chunk: Buffer): void => {
      said += chunk.toString('latin1');
      if (!whole.test(said)) return;
      socket.off('data', take);
      resolve(said);
    };
    socket.on('data', take);
    socket.once('close', () => reject(new Error('it closed the connection')));
  });
}

interface Dates {
  readonly validFrom: string;
  readonly validTo: string;
}

function datesOf(secured: TLSSocket): Dates {
  const { valid_from: validFrom, valid_to: validTo } = secured.getPeerCertificate();
  return { validFrom, validTo };
}
