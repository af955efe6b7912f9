/**
 * File descriptors: a connection that cannot be accepted for want of one waits in the kernel until its client gives up, and
 * an attempt that cannot open one fails. So connections of clients and attempts get shares of what the process may open,
 * and the rest is reserved for the pipeline: connections to servers, files, and kept connections to endpoints.
 */

import { readFileSync } from 'node:fs';
import type { Config } from './config.ts';

/** Files, pipes, listening sockets, connections to NATS and to PostgreSQL beside the pools, operators. */
const OWN = 80;
/** One for requests, one for the pipeline. */
const POOLS = 2;
/** Shares of what is left: a distribution's ten thousand are enough for the usual numbers. */
const CLIENTS_SHARE = 1 / 2;
const ATTEMPTS_SHARE = 1 / 4;
const LEAST = 8;

type Bounded = Pick<Config, 'api' | 'attemptsInFlightMax' | 'databaseConnectionsMax'>;

/** The limit of this process (`ulimit -n`), which Node.js has raised as far as it may; null where it is not known. */
export function readDescriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    // Not Linux.
    return null;
  }
}

/** The same configuration with at most as many connections and attempts as `limit` leaves room for. */
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

/** A sentence about a limit that leaves less than the usual numbers; null when it does not. */
export function descriptorShortage(config: Bounded, limit: number | null): string | null {
  const { api, attemptsInFlightMax } = fitDescriptors(config, limit);
  if (api.connectionsMax === config.api.connectionsMax && attemptsInFlightMax === config.attemptsInFlightMax)
    return null;
  return (
    `${limit} file descriptors (ulimit -n) are few: at most ${api.connectionsMax} connections of clients, others are closed ` +
    `at once, and ${attemptsInFlightMax} attempts at a time`
  );
}

export const DESCRIPTORS_REMEDY = 'raise it to 10000 (ulimit -n, LimitNOFILE of systemd)';
