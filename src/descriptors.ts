/**
 * Divides the file descriptors of the process. If none is free, a client's connection waits in the kernel until the
 * client gives up, and an attempt fails. Therefore client connections and attempts have fixed shares. The rest is
 * reserved for the pipeline: connections to servers, files, and keep-alive connections to endpoints.
 */

import { readFileSync } from 'node:fs';
import type { Config } from './config.ts';

/** For files, pipes, listening sockets, operators, NATS, and other connections to PostgreSQL. */
const OWN = 80;
/** The pools of `databaseConnectionsMax` connections: one for requests, and one for the pipeline. */
const POOLS = 2;
/** Shares of the other descriptors. The 10,000 that distributions allow are enough for the default limits. */
const CLIENTS_SHARE = 1 / 2;
const ATTEMPTS_SHARE = 1 / 4;
const LEAST = 8;

type Bounded = Pick<Config, 'api' | 'attemptsInFlightMax' | 'databaseConnectionsMax'>;

/** The limit of this process (`ulimit -n`), which Node.js has already raised as far as allowed; null if unknown. */
export function readDescriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    // This is not Linux.
    return null;
  }
}

/** The same configuration, with as many connections and attempts as `limit` leaves room for. */
export function fitDescriptors<C extends Bounded>(config: C, limit: number | null): C {
  if (limit === null) return config;
  const left = limit - OWN - POOLS * config.databaseConnectionsMax;
  const shareOf = (share: number): number => Math.max(LEAST, Math.floor(left * share));
  return {
    ...config,
    api: { ...config.api, connectionsMax: Math.min(config.api.connectionsMax, shareOf(CLIENTS_SHARE)) },
    attemptsInFlightMax: Math.min(config.attemptsInFlightMax, shareOf(ATTEMPTS_SHARE)),
  };
}

/** A warning if `limit` leaves room for fewer connections or attempts than configured; otherwise null. */
export function descriptorShortage(config: Bounded, limit: number | null): string | null {
  const { api, attemptsInFlightMax } = fitDescriptors(config, limit);
  if (api.connectionsMax === config.api.connectionsMax && attemptsInFlightMax === config.attemptsInFlightMax)
    return null;
  return (
    `The limit of ${limit} file descriptors (ulimit -n) is low. It leaves room for ${api.connectionsMax} connections of ` +
    `clients (others are closed at once) and ${attemptsInFlightMax} attempts at a time.`
  );
}

export const DESCRIPTORS_REMEDY = 'Raise the limit to 10000 (ulimit -n, LimitNOFILE of systemd).';
