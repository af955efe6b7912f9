/**
 * Looks up the names of endpoints with c-ares, because `dns.lookup` uses the few threads of libuv. There, hanging
 * lookups of one client would delay all other endpoints, PostgreSQL, NATS and the mail server.
 */

import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { inTime, Turns } from '../actor/waiting.ts';
import { codeOf, NotAttempted } from './attempt-failure.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

type LookUp = (name: string) => Promise<readonly ResolvedAddress[]>;

/** `client` owns the endpoint. If lookups are limited, rejects with `NotAttempted` while too many are in progress. */
export type ResolveName = (name: string, client: string) => ReturnType<LookUp>;

const TRIES = { timeout: 2_000, tries: 2 };
const LOOKUP_MS = 5_000;
/** Limits of concurrent lookups. A client whose lookups hang leaves capacity for other clients. */
const BOUNDS = { allMax: 64, perKeyMax: 8, shareOfFree: 1 / 4 };
/** Long enough for a burst of lookups that are answered quickly. */
const ROOM_WAIT_MS = 1_000;

/** Private networks need the hosts file and search domains. Each such lookup has a resolver, so these are limited. */
export function createNameLookups(allowPrivateNetworks: boolean): ResolveName {
  if (allowPrivateNetworks) return boundLookups(lookUpInNetwork());
  const resolver = new Resolver(TRIES);
  return (name) => queryAddresses(resolver, name);
}

export function boundLookups(lookUp: LookUp, roomWaitMs = ROOM_WAIT_MS): ResolveName {
  const turns = new Turns(BOUNDS);
  return async (name, client) => {
    const found = await turns.run(client, () => lookUp(name), roomWaitMs);
    if (found === null) throw new NotAttempted();
    return found;
  };
}

/** Reads the hosts file, then queries DNS with `search` and `ndots` of resolv.conf. Tests pass `servers`. */
export function lookUpInNetwork(
  hostsPath = '/etc/hosts',
  resolvConfPath = '/etc/resolv.conf',
  servers: readonly string[] | null = null,
): LookUp {
  return async (name) => {
    const listed = addressesIn(readFile(hostsPath) + LOCALHOST, name.replace(/\.$/, ''));
    if (listed.length > 0) return listed;
    // Each lookup has its own resolver, which reads the servers of resolv.conf again and can be cancelled alone.
    const resolver = new Resolver(TRIES);
    if (servers !== null) resolver.setServers(servers);
    const late = (): Error => new Error(`no answer within ${LOOKUP_MS} ms`);
    const names = candidatesOf(name, readFile(resolvConfPath));
    return inTime(queryFirst(resolver, names), LOOKUP_MS, late).finally(() => resolver.cancel());
  };
}

/** RFC 6761, section 6.3: no server is queried for `localhost`. */
const LOCALHOST = '\n127.0.0.1 localhost';

/** Reads synchronously, because the files are small and asynchronous `fs` would use libuv's thread pool. */
function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function addressesIn(hosts: string, name: string): readonly ResolvedAddress[] {
  if (!hosts.includes(name)) return [];
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address) as 0 | 4 | 6;
    return family !== 0 && names.includes(name) ? [{ address, family }] : [];
  });
}

/** Follows resolv.conf(5): the last `search` or `domain` line applies. */
function candidatesOf(name: string, resolvConf: string): readonly string[] {
  const [, domains = ''] = [...resolvConf.matchAll(/^(?:search|domain)[ \t](.*)/gm)].at(-1) ?? [];
  const [, ndots = '1'] = /^options[ \t].*?\bndots:(\d+)/m.exec(resolvConf) ?? [];
  if (name.endsWith('.')) return [name];
  const searched = domains.split(/\s+/).flatMap((domain) => (domain === '' ? [] : [`${name}.${domain}`]));
  return name.split('.').length > Number(ndots) ? [name, ...searched] : [...searched, name];
}

/** Errors after which the next candidate is tried. */
const ABSENT = new Set(['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'EREFUSED', 'EBADNAME']);

async function queryFirst(resolver: Resolver, names: readonly string[]): ReturnType<LookUp> {
  const [name = '', ...others] = names;
  try {
    return await queryAddresses(resolver, name);
  } catch (error) {
    if (others.length === 0 || !ABSENT.has(codeOf(error as Error))) throw error;
    return queryFirst(resolver, others);
  }
}

async function queryAddresses(resolver: Resolver, name: string): ReturnType<LookUp> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  return [
    ...(four.status === 'fulfilled' ? four.value : []).map((address) => ({ address, family: 4 as const })),
    ...(six.status === 'fulfilled' ? six.value : []).map((address) => ({ address, family: 6 as const })),
  ];
}
