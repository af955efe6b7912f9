/**
 * A client of the REST interface: paths and IRIs in, JSON out. A refused request throws a `Refusal` with its
 * violations; an unreachable service throws `Unreachable`, and the request may be retried.
 */

import { pause } from './now.ts';
import { BASE } from './session.ts';
import { language, type Words } from './words/language.ts';

export interface Violation {
  readonly propertyPath: string;
  readonly message: string;
}

export class Refusal extends Error {
  readonly status: number;
  readonly violations: readonly Violation[];
  /** From `Retry-After`; null without it. */
  readonly retryAfterMs: number | null;
  /** The cursor at which to restart the feed after a 410; otherwise null. */
  readonly oldest: string | null;

  constructor(status: number, body: Readonly<Record<string, unknown>>, retryAfter: string | null) {
    super(typeof body.detail === 'string' ? body.detail : `HTTP ${status}`);
    this.status = status;
    this.violations = (body.violations ?? []) as readonly Violation[];
    this.retryAfterMs = retryAfter === null ? null : Number(retryAfter) * 1_000;
    this.oldest = typeof body.oldest === 'string' ? body.oldest : null;
  }
}

export class Unreachable extends Error {}

export type Query = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

export interface Answer<Body> {
  readonly body: Body;
  readonly etag: string | null;
}

export interface RequestOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Rest = ReturnType<typeof createRest>;

/**
 * The functions reject with `Refusal` or `Unreachable`, or with the signal's reason. `onUnknownKey` is called when the
 * service rejects the key.
 */
export function createRest(key: string, onUnknownKey: () => void) {
  const send = async (method: Method, path: string, options: RequestOptions): Promise<Response> => {
    const response = await fetch(addressOf(path, options.query), {
      method,
      headers: {
        'X-API-KEY': key,
        'Accept-Language': language.get(),
        ...(options.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    }).catch((error: Error) => {
      if (options.signal?.aborted === true) throw error;
      throw new Unreachable(error.message);
    });
    if (response.ok) return response;
    if (response.status === 401) onUnknownKey();
    // A 503 of the service, or an error of a proxy in a format of its own.
    if (response.status >= 502) throw new Unreachable(`HTTP ${response.status}`);
    const body = await response.json().catch(() => ({}));
    throw new Refusal(response.status, body, response.headers.get('Retry-After'));
  };
  const ask = async <Body>(method: Method, path: string, options: RequestOptions = {}): Promise<Answer<Body>> => {
    const response = await send(method, path, options);
    return { body: await bodyOf<Body>(response, options.signal), etag: response.headers.get('ETag') };
  };
  return {
    ask,
    /** Requests another media type than JSON. */
    readText: async (path: string, query: Query, type: string): Promise<string> =>
      (await send('GET', path, { query, headers: { Accept: type } })).text(),
    read: async <Body>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Body> => {
      return (await ask<Body>('GET', path, { query, ...(signal === undefined ? {} : { signal }) })).body;
    },
  };
}

/** An answer that is cut off counts as no answer. */
async function bodyOf<Body>(response: Response, signal?: AbortSignal): Promise<Body> {
  if (response.status === 204) return undefined as Body;
  return response.json().catch((error: Error) => {
    if (signal?.aborted === true) throw error;
    throw new Unreachable(error.message);
  });
}

export function addressOf(path: string, query: Query = {}): string {
  const url = new URL(path.replace(/^\//, ''), BASE);
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
  }
  return url.href;
}

/** Returns the sentence about a refusal or an unreachable service. Throws any other error: it is a bug of the page. */
export function messageOf(error: unknown, words: Pick<Words, 'unreachable'>): string {
  if (error instanceof Refusal) return error.message;
  if (error instanceof Unreachable) return words.unreachable;
  throw error;
}

const AGAIN_MS = 2_000;

/** Retries while the service is unreachable or busy. Null if the signal is aborted or the key is rejected. */
export async function tolerant<Done>(signal: AbortSignal, work: () => Promise<Done>): Promise<Done | null> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || (error instanceof Refusal && error.status === 401)) return null;
      const passes =
        error instanceof Unreachable || (error instanceof Refusal && (error.status === 429 || error.status >= 500));
      if (!passes) throw error;
      await pause(AGAIN_MS, signal);
    }
  }
  return null;
}
