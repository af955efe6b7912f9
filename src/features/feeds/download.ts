/**
 * Fetches a source's file to disk, from addresses that are public alone, wherever it redirects to: who names an address
 * is an agency, and what lies inside is none of its business. Bounded in size, in time, and in redirects.
 */

import { lookup } from 'node:dns';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher } from 'undici';
import { hostFault, isPublicAddress, notPublic } from '../../webhooks/connector.ts';
import { SnapshotRefusedError } from './feed-row.ts';

export interface DownloadOptions {
  /** Also lets plain http through. */
  readonly allowPrivateNetworks: boolean;
  readonly stopping: AbortSignal;
  /** Which addresses are public; a test's own network may stand for it. */
  readonly isPublic?: (address: string) => boolean;
  readonly timeoutMs?: number;
  readonly bytesMax?: number;
}

export interface Download {
  readonly path: string;
  /** What the server tells this version of the file by; given back when it is asked again. */
  readonly version: string;
  dispose(): Promise<void>;
}

const REDIRECTS_MAX = 5;
const TIMEOUT_MS = 600_000;
const SILENCE_MS = 30_000;
const BYTES_MAX = 1_024 ** 3;

/** Null: it is still the one of `version`. Throws `SnapshotRefusedError` that says why there is none. */
export async function download(
  url: string,
  version: string | null,
  options: DownloadOptions,
): Promise<Download | null> {
  const { allowPrivateNetworks, stopping, timeoutMs = TIMEOUT_MS, isPublic = isPublicAddress } = options;
  const isAllowed = (address: string): boolean => allowPrivateNetworks || isPublic(address);
  const agent = new Agent({
    ...{ connect: { lookup: guardedLookup(isAllowed), timeout: SILENCE_MS } },
    ...{ headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS },
  });
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
  try {
    const answer = await follow(new URL(url), version, { agent, signal, isAllowed, allowPrivateNetworks });
    return answer === null ? null : await keep(answer, options.bytesMax ?? BYTES_MAX, signal);
  } catch (cause) {
    stopping.throwIfAborted();
    if (cause instanceof SnapshotRefusedError) throw cause;
    const reason = signal.aborted ? `it took longer than ${timeoutMs} ms` : (cause as Error).message;
    throw new SnapshotRefusedError(`${url} cannot be fetched: ${reason}`, { cause });
  } finally {
    await agent.destroy();
  }
}

interface Asking {
  readonly agent: Agent;
  readonly signal: AbortSignal;
  readonly isAllowed: (address: string) => boolean;
  readonly allowPrivateNetworks: boolean;
}

async function follow(first: URL, version: string | null, asking: Asking): Promise<Dispatcher.ResponseData | null> {
  const { agent, signal, allowPrivateNetworks, isAllowed } = asking;
  let url = first;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    if (url.protocol !== 'https:' && !(allowPrivateNetworks && url.protocol === 'http:'))
      throw new Error(`${url.origin} is not https`);
    const literal = url.hostname.replaceAll(/[[\]]/g, '');
    const fault = isAllowed(literal) ? null : hostFault(url.hostname);
    if (fault !== null) throw new Error(fault);
    const { origin, pathname, search } = url;
    const answer = await agent.request({
      ...{ origin, path: pathname + search, method: 'GET', signal },
      headers: { 'user-agent': 'Vigie', ...conditionsOf(version) },
    });
    const { statusCode, headers } = answer;
    if (statusCode === 200) return answer;
    await answer.body.dump();
    if (statusCode === 304) return null;
    if (![301, 302, 303, 307, 308].includes(statusCode) || typeof headers.location !== 'string')
      throw new Error(`${url.origin} answers ${statusCode}`);
    url = new URL(headers.location, url);
  }
  throw new Error(`it redirects more than ${REDIRECTS_MAX} times`);
}

/** A version is what `versionOf` has made. */
function conditionsOf(version: string | null): Record<string, string> {
  const { etag, modified } = JSON.parse(version ?? '{}') as { etag?: string; modified?: string };
  return { ...(etag && { 'if-none-match': etag }), ...(modified && { 'if-modified-since': modified }) };
}

function versionOf({ headers: { etag, 'last-modified': modified } }: Dispatcher.ResponseData): string {
  return JSON.stringify({ etag, modified });
}

async function keep(answer: Dispatcher.ResponseData, bytesMax: number, signal: AbortSignal): Promise<Download> {
  const directory = await mkdtemp(join(tmpdir(), 'vigie-feed-'));
  const path = join(directory, 'snapshot');
  const dispose = () => rm(directory, { recursive: true, force: true });
  async function* bounded(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
      yield chunk;
    }
  }
  try {
    await pipeline(answer.body, bounded, createWriteStream(path, { mode: 0o600 }), { signal });
    return { path, version: versionOf(answer), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function guardedLookup(isAllowed: (address: string) => boolean): LookupFunction {
  return (name, options, callback) => {
    lookup(name, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '');
      const [first, ...others] = found.filter(({ address }) => isAllowed(address));
      if (first === undefined) callback(new Error(notPublic(found[0]?.address ?? name)), '');
      else if (options.all) callback(null, [first, ...others]);
      else callback(null, first.address, first.family);
    });
  };
}
