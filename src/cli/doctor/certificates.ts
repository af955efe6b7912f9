/** Checks the validity of the first certificate in each configured file, and whether API keys are sent in plaintext. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '../../config.ts';
import { isLoopback } from '../../config-conflicts.ts';
import { type Finding, findingsAbout } from './finding.ts';

const { fine, lookAt, wrong } = findingsAbout('TLS');

const DAY_MS = 86_400_000;
/** Leaves an operator time to renew the certificate. */
const DAYS_LEFT_LEAST = 30;

export function checkCertificates({ admin, mail, api }: Config, now: Date): readonly Finding[] {
  const files = [
    ['VIGIE_ADMIN_TLS_CERT', admin.certificate],
    ['VIGIE_ADMIN_CLIENT_CA', admin.clientAuthorities],
    ['VIGIE_SMTP_TLS_CA', mail?.authoritiesFile ?? null],
  ] as const;
  const ofFiles = files.flatMap(([setting, path]) => (path === null ? [] : [fileFinding(setting, path, now)]));
  return [...ofFiles, ...(api.publicUrl === null ? [] : publicFindings(new URL(api.publicUrl)))];
}

function fileFinding(setting: string, path: string, now: Date): Finding {
  const what = `${setting} (${path})`;
  try {
    const { validFrom, validTo } = new X509Certificate(readFileSync(path));
    const days = Math.floor((Date.parse(validTo) - now.getTime()) / DAY_MS);
    const day = new Date(validTo).toISOString().slice(0, 10);
    if (Date.parse(validFrom) > now.getTime()) return wrong(`${what} is not valid yet.`, 'Check the clock.');
    if (days < 0) return wrong(`${what} expired on ${day}.`, 'Renew the certificate.');
    if (days < DAYS_LEFT_LEAST) return lookAt(`${what} expires on ${day}, in ${days} days.`, 'Renew the certificate.');
    return fine(`${what} is valid until ${day}.`);
  } catch (error) {
    return wrong(`${setting} cannot be read (${(error as Error).message}).`, 'Set it to a readable PEM file.');
  }
}

function publicFindings({ protocol, hostname, origin }: URL): readonly Finding[] {
  if (protocol !== 'http:' || isLoopback(hostname)) return [];
  return [lookAt(`VIGIE_PUBLIC_URL is ${origin}, so API keys are sent in plaintext.`, 'Add a proxy with TLS.')];
}
