/** The program, its settings, the daemon that runs on this machine, and the certificates that it shows. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import type { Config } from '../../config.ts';
import { assertServable, isLoopback } from '../../config-conflicts.ts';
import { unsupportedNode } from '../../node-support.ts';
import { VERSION } from '../../version.ts';
import { reasonOf } from '../terminal.ts';
import { type Finding, findingsAbout } from './finding.ts';

const ANSWER_MAX_MS = 5_000;
const DAY_MS = 86_400_000;
/** Those that renew themselves do so a month before. */
const DAYS_LEFT_LEAST = 14;

export function checkProgram(config: Config, now: Date): readonly Finding[] {
  const { fine, lookAt, wrong } = findingsAbout('settings');
  const about = findingsAbout('version');
  const unsupported = unsupportedNode(process.versions.node, now);
  const problems = problemsOf(() => assertServable(config)).map((problem) => wrong(problem));
  const unknown = config.unknownNames.map((name) => lookAt(`${name} is no setting`, 'config/default.env lists them'));
  return [
    unsupported === null
      ? about.fine(`Vigie ${VERSION}, Node.js ${process.versions.node}`)
      : about.lookAt(`Vigie ${VERSION}; ${unsupported}`),
    ...(problems.length + unknown.length === 0 ? [fine('they go together')] : [...problems, ...unknown]),
  ];
}

/** One each, of a `ConfigError`. */
export function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
    return [];
  } catch (error) {
    if ((error as { code?: string }).code !== 'CONFIG_INVALID') throw error;
    return (error as Error).message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
}

interface Readiness {
  readonly checks: Readonly<Record<string, { readonly status: string; readonly reason?: string }>>;
}

export async function checkDaemon({ operations: { host, port } }: Config): Promise<readonly Finding[]> {
  const { fine, lookAt, wrong, unknown } = findingsAbout('service');
  const named = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const url = `http://${named.includes(':') ? `[${named}]` : named}:${port}/readyz`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MAX_MS) });
    const { checks } = (await answer.json()) as Readiness;
    const findings = Object.entries(checks).flatMap(([name, { status, reason = '' }]) => {
      if (status === 'ok') return [];
      return [(status === 'failed' ? wrong : lookAt)(`${name}: ${reason}`)];
    });
    return findings.length === 0 ? [fine(`${url}: ready`)] : findings;
  } catch (error) {
    if (error instanceof SyntaxError) return [wrong(`${url} is another program’s`, 'correct VIGIE_OPERATIONS_ADDRESS')];
    const reason = reasonOf(((error as Error).cause as Error | undefined) ?? (error as Error));
    return [unknown(`no daemon answers at ${url} (${reason})`, 'start it, or ask where it runs')];
  }
}

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
    const { validFrom, validTo } = new X509Certificate(readFileSync(path));
    return dateFinding(`${setting} (${path})`, validFrom, validTo, now);
  } catch (error) {
    return findingsAbout('TLS').wrong(`${setting} cannot be read (${(error as Error).message})`, 'name a PEM file');
  }
}

function dateFinding(what: string, validFrom: string, validTo: string, now: Date): Finding {
  const { fine, lookAt, wrong } = findingsAbout('TLS');
  const days = Math.floor((Date.parse(validTo) - now.getTime()) / DAY_MS);
  const day = new Date(validTo).toISOString().slice(0, 10);
  if (Date.parse(validFrom) > now.getTime()) return wrong(`${what} is not valid yet`, 'look at the clock');
  if (days < 0) return wrong(`${what} expired on ${day}`, 'renew it');
  if (days < DAYS_LEFT_LEAST) return lookAt(`${what} expires on ${day}, in ${days} days`, 'renew it');
  return fine(`${what} is valid until ${day}`);
}

async function publicFinding(url: URL, now: Date): Promise<Finding> {
  const { fine, lookAt, wrong, unknown } = findingsAbout('TLS');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol === 'http:') {
    if (isLoopback(host)) return fine(`VIGIE_PUBLIC_URL is ${url.origin}, on this machine alone`);
    return lookAt(`VIGIE_PUBLIC_URL is ${url.origin}, API keys go there in clear`, 'put a proxy with TLS before it');
  }
  const shown = await certificateOf(host, Number(url.port || 443)).catch((error: Error) => error);
  if (shown instanceof Error) {
    return unknown(`${url.origin} does not answer from here (${reasonOf(shown)})`, 'ask from elsewhere');
  }
  const { certificate, refusal } = shown;
  const dated = dateFinding(`certificate of ${url.origin}`, certificate.valid_from, certificate.valid_to, now);
  if (dated.level === 'wrong' || refusal === null) return dated;
  return wrong(
    `certificate of ${url.origin} is refused (${refusal})`,
    'show the whole chain, of an authority that clients know',
  );
}

/** Whatever it is worth: `refusal` says what is the matter with it. */
function certificateOf(
  host: string,
  port: number,
): Promise<{ readonly certificate: PeerCertificate; readonly refusal: string | null }> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        host,
        port,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        rejectUnauthorized: false,
        timeout: ANSWER_MAX_MS,
      },
      () => {
        const refusal = socket.authorized ? null : String(socket.authorizationError);
        resolve({ certificate: socket.getPeerCertificate(), refusal });
        socket.destroy();
      },
    );
    socket.on('error', reject);
    socket.on('timeout', () => socket.destroy(new Error('no answer in time')));
  });
}
