/**
 * Finds conflicts between the settings of a daemon before anything opens. These rules do not apply to commands that
 * only call a daemon, because its address may be on another host.
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type Config, ConfigError } from './config.ts';

/** Throws a `ConfigError` that names every conflict. */
export function assertServable(config: Config): void {
  const problems = [
    ...replicaProblems(config),
    ...portProblems(config),
    ...mailProblems(config),
    ...drainProblems(config),
  ];
  if (config.roles.includes('admin')) problems.push(...adminProblems(config.admin));
  if (problems.length > 0) throw ConfigError.of(problems);
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

function replicaProblems({ natsReplicas, natsUrl }: Config): readonly string[] {
  if (natsReplicas === 1 || natsUrl !== null) return [];
  return [`VIGIE_NATS_REPLICAS is ${natsReplicas}, but the embedded NATS is one server. Set NATS_URL to a cluster`];
}

const ANYWHERE: readonly string[] = ['0.0.0.0', '::'];

function portProblems(config: Config): readonly string[] {
  const { roles, operations, api, admin, natsUrl, natsPort } = config;
  const wanted = [
    { setting: 'VIGIE_OPERATIONS_ADDRESS', ...operations },
    ...(roles.includes('api') ? [{ setting: 'VIGIE_API_ADDRESS', host: api.host, port: api.port }] : []),
    ...(roles.includes('admin') ? [{ setting: 'VIGIE_ADMIN_ADDRESS', host: admin.host, port: admin.port }] : []),
    ...(natsUrl === null ? [{ setting: 'VIGIE_NATS_PORT', host: '127.0.0.1', port: natsPort }] : []),
  ];
  const overlap = (one: string, other: string): boolean =>
    one === other || [one, other].some((host) => ANYWHERE.includes(host));
  return wanted.flatMap(({ setting, host, port }, position) =>
    wanted
      .slice(position + 1)
      .filter((other) => port !== 0 && other.port === port && overlap(host, other.host))
      .map((other) => `${setting} and ${other.setting} both have port ${port}. Give one of them another port`),
  );
}

function drainProblems({ drainAnnounceMs, drainTimeoutMs }: Config): readonly string[] {
  if (drainAnnounceMs < drainTimeoutMs) return [];
  return [
    `VIGIE_DRAIN_ANNOUNCE_MS is ${drainAnnounceMs}, so no stop ends in time. Set it below VIGIE_DRAIN_TIMEOUT_MS`,
  ];
}

function mailProblems({ mail }: Config): readonly string[] {
  if (mail === null || mail.authoritiesFile === null) return [];
  try {
    const { subject } = new X509Certificate(readFileSync(mail.authoritiesFile));
    return subject === undefined ? ['VIGIE_SMTP_TLS_CA names a certificate without a subject. Name another'] : [];
  } catch (error) {
    return [`VIGIE_SMTP_TLS_CA cannot be used (${(error as Error).message}). Set it to a readable PEM file`];
  }
}

function adminProblems({ host, certificate, privateKey, clientAuthorities }: Config['admin']): readonly string[] {
  if (certificate === null && privateKey === null) {
    const problems: string[] = [];
    if (clientAuthorities !== null) {
      problems.push('VIGIE_ADMIN_CLIENT_CA needs a certificate. Set VIGIE_ADMIN_TLS_CERT and VIGIE_ADMIN_TLS_KEY');
    }
    if (!isLoopback(host)) {
      problems.push(
        `VIGIE_ADMIN_ADDRESS has ${host}, but plaintext is allowed only on loopback. Set VIGIE_ADMIN_TLS_CERT and ` +
          'VIGIE_ADMIN_TLS_KEY',
      );
    }
    return problems;
  }
  if (certificate === null || privateKey === null) {
    return ['VIGIE_ADMIN_TLS_CERT and VIGIE_ADMIN_TLS_KEY must be set together'];
  }
  return tlsProblems(certificate, privateKey, clientAuthorities);
}

/** The files may change before they are used. The start then fails later, with another message. */
function tlsProblems(certificate: string, privateKey: string, clientAuthorities: string | null): readonly string[] {
  const problems: string[] = [];
  const read = (setting: string, path: string): Buffer | null => {
    try {
      return readFileSync(path);
    } catch (error) {
      problems.push(`${setting} cannot be read (${(error as Error).message}). Set it to a readable PEM file`);
      return null;
    }
  };
  const [cert, key] = [read('VIGIE_ADMIN_TLS_CERT', certificate), read('VIGIE_ADMIN_TLS_KEY', privateKey)];
  const ca = clientAuthorities === null ? undefined : read('VIGIE_ADMIN_CLIENT_CA', clientAuthorities);
  if (cert === null || key === null || ca === null) return problems;
  try {
    createSecureContext({ cert, key, ca });
  } catch (error) {
    problems.push(
      `VIGIE_ADMIN_TLS_CERT, VIGIE_ADMIN_TLS_KEY and VIGIE_ADMIN_CLIENT_CA cannot be used (${(error as Error).message}). ` +
        'Give PEM files, and a certificate with its own key',
    );
  }
  return problems;
}
