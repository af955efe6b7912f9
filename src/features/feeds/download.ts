/**
 * Fetches a source's file to disk, from addresses that are public alone, wherever it redirects to: who names an address
 * is an agency, and what lies inside is none of its business. Bounded in size, in time, and in redirects.
 */

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher, interceptors, request } from 'undici';
import { type ConnectorOptions, createConnector } from '../../engine/delivery/connector.ts';
import { SnapshotRefusedError } from './feed-row.ts';

export interface DownloadOptions extends Omit<ConnectorOptions, 'connectTimeoutMs'> {
  readonly stopping: AbortSignal;
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
  const { stopping, timeoutMs = TIMEOUT_MS } = options;
  const connect = createConnector({ connectTimeoutMs: SILENCE_MS, ...options });
  const agent = new Agent({ connect, headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS });
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: REDIRECTS_MAX }));
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
  try {
    const headers = { 'user-agent': 'Vigie', ...conditionsOf(version) };
    const answer = await request(url, { dispatcher, signal, headers });
    const { statusCode } = answer;
    if (statusCode === 200) return await keep(answer, options.bytesMax ?? BYTES_MAX, signal);
    if (statusCode === 304) return null;
    throw new Error(statusCode < 400 ? `it redirects more than ${REDIRECTS_MAX} times` : `it answers ${statusCode}`);
  } catch (cause) {
    stopping.throwIfAborted();
    const reason = signal.aborted ? `it took longer than ${timeoutMs} ms` : (cause as Error).message;
    throw new SnapshotRefusedError(`${url} cannot be fetched: ${reason}`, { cause });
  } finally {
    await agent.destroy();
  }
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
