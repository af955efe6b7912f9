/**
 * Downloads a source's file to disk, with limits on size, duration, rate and redirects. Unless private networks are
 * allowed, every address, including those of redirects, must be public: agencies supply the URLs and must not reach the
 * internal network. User and password are sent only to the named host and never appear in a message.
 */

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher, interceptors, request } from 'undici';
import { startTask } from '../../engine/actor/task.ts';
import { withDeadline } from '../../engine/actor/waiting.ts';
import { type ConnectorOptions, createConnector } from '../../engine/delivery/connector.ts';
import { SnapshotRefusedError } from './feed-row.ts';

export interface DownloadOptions extends Omit<ConnectorOptions, 'connectTimeoutMs' | 'answerBytesMax'> {
  readonly stopping: AbortSignal;
  /** Value of the `Authorization` header. */
  readonly authorization?: string | null;
  /** Called with the bytes received so far. */
  readonly onBytes?: (bytes: number) => void;
  readonly timeoutMs?: number;
  readonly bytesMax?: number;
  readonly rateCheckEveryMs?: number;
}

export interface Download {
  readonly path: string;
  /** The server's version of the file, sent with the next request. */
  readonly version: string;
  dispose(): Promise<void>;
}

const REDIRECTS_MAX = 5;
const TIMEOUT_MS = 600_000;
const SILENCE_MS = 30_000;
const BYTES_MAX = 1_024 ** 3;
const RATE_CHECK_EVERY_MS = 60_000;
/** Minimum rate of the download, measured from the request on. */
const BYTES_PER_SECOND_MIN = 1_024;

/** Null if the server answers that the file still has `version`. Throws `SnapshotRefusedError` with the reason. */
export async function download(
  url: string,
  version: string | null,
  options: DownloadOptions,
): Promise<Download | null> {
  const { stopping, timeoutMs = TIMEOUT_MS, bytesMax = BYTES_MAX } = options;
  // A server may send its bytes in small chunks, whose framing also counts.
  const connect = createConnector({ connectTimeoutMs: SILENCE_MS, answerBytesMax: 8 * bytesMax, ...options });
  const agent = new Agent({ connect, headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS });
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: REDIRECTS_MAX }));
  const late = (): Error => new Error(`the download took longer than ${timeoutMs} ms`);
  let bytes = 0;
  const count = (length: number): void => {
    bytes += length;
    if (bytes > bytesMax) throw new Error(`the file has more than ${bytesMax} bytes`);
    options.onBytes?.(bytes);
  };
  try {
    return await withDeadline(timeoutMs, stopping, late, async (ending) => {
      const watch = watchRate(() => bytes, ending, options.rateCheckEveryMs);
      try {
        return await fetchFile(url, version, { dispatcher, signal: ending.signal, count, ...options });
      } catch (error) {
        throw ending.signal.aborted ? ending.signal.reason : error;
      } finally {
        await watch.stop();
      }
    });
  } catch (cause) {
    stopping.throwIfAborted();
    throw new SnapshotRefusedError(`Cannot download ${url}: ${(cause as Error).message}.`, { cause });
  } finally {
    await agent.destroy();
  }
}

/** Aborts a download that has received too few bytes since the previous check. */
function watchRate(received: () => number, ending: AbortController, everyMs = RATE_CHECK_EVERY_MS) {
  const leastBytes = (BYTES_PER_SECOND_MIN * everyMs) / 1_000;
  let before = 0;
  return startTask({
    what: 'feed rate',
    everyMs,
    work() {
      const bytes = received();
      if (bytes - before < leastBytes)
        ending.abort(new Error(`the server sends too slowly: ${bytes - before} bytes in ${everyMs / 1_000} s`));
      before = bytes;
    },
  });
}

interface Fetching extends Pick<DownloadOptions, 'authorization'> {
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  /** Throws if the download exceeds its limit. */
  readonly count: (bytes: number) => void;
}

async function fetchFile(url: string, version: string | null, fetching: Fetching): Promise<Download | null> {
  const { dispatcher, signal, count, authorization } = fetching;
  const conditions = conditionsOf(version);
  const headers = { 'user-agent': 'Vigie', ...conditions, ...(authorization && { authorization }) };
  const answer = await request(url, { dispatcher, signal, headers });
  const { statusCode } = answer;
  if (statusCode === 200) return keep(answer, count, signal);
  if (statusCode === 304 && Object.keys(conditions).length > 0) return null;
  if (statusCode === 304) throw new Error('the server answered 304 to a request without conditions');
  const redirected = `redirected more than ${REDIRECTS_MAX} times`;
  throw new Error(`the server ${statusCode < 400 ? redirected : `answered ${statusCode}`}`);
}

/**
 * Headers that request the file only if it no longer has `version`, a result of `versionOf`. No headers for the version
 * of a local file, which is stored if `vigie feed` has read one for this source.
 */
function conditionsOf(version: string | null): Record<string, string> {
  const known = version?.startsWith('{') ? version : '{}';
  const { etag, modified } = JSON.parse(known) as { etag?: string; modified?: string };
  return { ...(etag && { 'if-none-match': etag }), ...(modified && { 'if-modified-since': modified }) };
}

function versionOf({ headers: { etag, 'last-modified': modified } }: Dispatcher.ResponseData): string {
  return JSON.stringify({ etag, modified });
}

async function keep(answer: Dispatcher.ResponseData, count: Fetching['count'], signal: AbortSignal): Promise<Download> {
  const directory = await mkdtemp(join(tmpdir(), 'vigie-feed-'));
  const path = join(directory, 'snapshot');
  const dispose = () => rm(directory, { recursive: true, force: true });
  async function* countBytes(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      count(chunk.length);
      yield chunk;
    }
  }
  try {
    await pipeline(answer.body, countBytes, createWriteStream(path, { mode: 0o600 }), { signal });
    return { path, version: versionOf(answer), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
