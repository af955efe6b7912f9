/**
 * Divides the file descriptors of the process. Without a free one, a client's connection waits in the kernel until the
 * client gives up, and an attempt fails. So client connections and attempts get fixed shares, and the rest is reserved
 * for the pipeline: connections to servers, files, and keep-alive connections to endpoints.
 */

import { readFileSync } from 'node:fs';
import type { Config } from './config.ts';

/** Files, pipes, listening sockets, operators, connections to NATS, and to PostgreSQL outside the pools. */
const OWN = 80;
/** One pool for requests, one for the pipeline. */
const POOLS = 2;
/** Shares of the rest. The 10,000 descriptors that distributions allow are enough for the default bounds. */
const CLIENTS_SHARE = 1 / 2;
const ATTEMPTS_SHARE = 1 / 4;
const LEAST = 8;

type Bounded = Pick<Config, 'api' | 'attemptsInFlightMax' | 'databaseConnectionsMax'>;

/** The limit of this process (`ulimit -n`), which Node.js has raised as far as it may; null if it is unknown. */
export function readDescriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    // Not Linux.
    return null;
  }
}

/** The same configuration, with its connections and attempts reduced to what `limit` leaves room for. */
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

/** A warning when `limit` leaves room for fewer connections or attempts than configured; otherwise null. */
export function descriptorShortage(config: Bounded, limit: number | null): string | null {
  const { api, attemptsInFlightMax } = fitDescriptors(config, limit);
  if (api.connectionsMax === config.api.connectionsMax && attemptsInFlightMax === config.attemptsInFlightMax)
    return null;
  return (
    `The limit of ${limit} file descriptors (ulimit -n) is low. It leaves room for ${api.connectionsMax} connections of ` +
    `clients (others are closed at once) and ${attemptsInFlightMax} attempts at a time.`
  );
}

export const DESCRIPTORS_REMEDY = 'Raise it to 10000 (ulimit -n, LimitNOFILE of systemd).';
