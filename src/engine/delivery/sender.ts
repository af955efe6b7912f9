/**
 * Makes one attempt: posts a signed body to an endpoint and reports the outcome. Endpoints are untrusted, so
 * connecting, the whole attempt and the number of bytes read have limits, and redirects are not followed.
 *
 * The status line decides. After a 200 the delivery counts as delivered, even if the rest of the answer never ends, is
 * interrupted or is too long. The receiver has confirmed the data, and a retry would be a duplicate.
 */

import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher, Pool } from 'undici';
import { InFlight } from '../actor/waiting.ts';
import type { AttemptError, AttemptOutcome } from '../domain/delivery.ts';
import { storable } from '../domain/text.ts';
import { isUnanswered } from './answer-gate.ts';
import { AttemptFailure, failureOf, NotAttempted } from './attempt-failure.ts';
import { type ConnectorOptions, createConnector } from './connector.ts';
import { createNameLookups } from './name-lookups.ts';
import { signatureHeaders } from './signature.ts';

export interface SendRequest {
  /** The identifier of the delivery, the same on every retry. */
  readonly id: string;
  readonly endpoint: string;
  /** The client that owns the endpoint. Two clients never share a connection or a DNS lookup. */
  readonly clientId: string;
  readonly body: string | Buffer;
  /** `whsec_` followed by the key in base64. */
  readonly token: string;
  /** Further secrets that sign the body, in the same form. */
  readonly secrets?: readonly string[];
  /** The context of the search as JSON; null omits the header. */
  readonly context?: string | null;
  /** The number of the delivery within its match, from 1; null omits the header. */
  readonly sequence?: number | null;
  readonly startedAt: Date;
  /** The trace that the attempt belongs to (W3C Trace Context). */
  readonly trace?: { readonly traceparent?: string; readonly tracestate?: string };
}

export type Sender = ReturnType<typeof createSender>;

export interface SenderOptions extends Omit<ConnectorOptions, 'answerBytesMax'> {
  /** The time from the call of `send` to the end of the answer. */
  readonly attemptTimeoutMs: number;
  readonly userAgent: string;
}

/** Maximum bytes of an answer's body. Above this, the connection is closed. */
const RESPONSE_BYTES_MAX = 64 * 1_024;
/** Chunks of one byte increase a 64 KiB body to 384 KiB. */
const ANSWER_BYTES_MAX = 512 * 1_024;
const RESPONSE_HEAD_BYTES = 2 * 1_024;
const REASON_LENGTH_MAX = 300;
/** Common servers close idle connections after five seconds, which would break a POST that is sent at that moment. */
const IDLE_CONNECTION_MS = 4_000;
/** The maximum if an endpoint asks for a longer time with its `Keep-Alive` header. */
const IDLE_CONNECTION_MAX_MS = 60_000;
const CONNECTORS_MAX = 1_000;
/** A connection of this age is closed, so that its name is resolved again. */
const CONNECTION_LIFE_MS = 5 * 60_000;

export function createSender(options: SenderOptions) {
  const { resolveName = createNameLookups(options.allowPrivateNetworks) } = options;
  const connecting = { ...options, resolveName, answerBytesMax: ANSWER_BYTES_MAX };
  // Each connector caches the TLS sessions of its client's endpoints for later connections.
  const connectors = new LRUCache<string, ReturnType<typeof createConnector>>({
    max: CONNECTORS_MAX,
    memoMethod: (client) => createConnector(connecting, client),
  });
  const shared = {
    // The origin contains the client (`originOf`), because undici passes nothing else of a request here.
    factory(origin: string | URL, pool: object): Pool {
      const { username: client, protocol, host } = new URL(origin);
      return new Pool(`${protocol}//${host}`, { ...pool, connect: connectors.memo(client) });
    },
    clientTtl: CONNECTION_LIFE_MS,
    // The deadline of the attempt limits both.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const agents: Agents = {
    // Reuses connections.
    kept: new Agent({
      ...shared,
      pipelining: 1,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MAX_MS,
    }),
    // Opens a new connection for each request, because without pipelining a connection serves one request.
    fresh: new Agent({ ...shared, pipelining: 0 }),
  };
  const underWay = new InFlight();

  return {
    /** Number of attempts in progress. */
    get inFlight() {
      return underWay.count;
    },
    /** Resolves with null, without an attempt, if too many DNS lookups are in progress. Never rejects. */
    send(request: SendRequest) {
      const attempt = new Promise<AttemptOutcome | null>((settle) =>
        new Attempt(request, options, agents, settle).start(),
      );
      underWay.add(attempt);
      return attempt;
    },
    /** Resolves when the attempts in progress have ended, within the time limit of an attempt. */
    async close() {
      await underWay.ended();
      await Promise.all([agents.kept.destroy(), agents.fresh.destroy()]);
    },
  };
}

type Agents = Readonly<Record<'kept' | 'fresh', Agent>>;

/** The state of one request, which undici updates. It settles once and ignores later events. */
class Attempt implements Dispatcher.DispatchHandler {
  readonly #request: SendRequest;
  readonly #options: SenderOptions;
  readonly #agents: Agents;
  readonly #settle: (outcome: AttemptOutcome | null) => void;
  readonly #beganAt = performance.now();
  readonly #deadline: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;
  /** Set by the second post. Describes the first post for the log; empty if none of its bytes was written. */
  #firstPost: string | null = null;
  #statusCode: number | null = null;
  #head: Buffer[] = [];
  #bytesRead = 0;

  constructor(
    request: SendRequest,
    options: SenderOptions,
    agents: Agents,
    settle: (outcome: AttemptOutcome | null) => void,
  ) {
    this.#request = request;
    this.#options = options;
    this.#agents = agents;
    this.#settle = settle;
    this.#deadline = setTimeout(() => {
      this.#stop(new AttemptFailure('timeout', `no answer within ${options.attemptTimeoutMs} ms`));
    }, options.attemptTimeoutMs);
  }

  start(): void {
    this.#dispatch(this.#agents.kept);
  }

  #dispatch(agent: Agent): void {
    const { id, endpoint, clientId, body, token, secrets = [], startedAt, trace } = this.#request;
    const { sequence = null, context = null } = this.#request;
    try {
      const url = new URL(endpoint);
      agent.dispatch(
        {
          origin: originOf(url, clientId),
          path: `${url.pathname}${url.search}`,
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'user-agent': this.#options.userAgent,
            ...(sequence === null ? {} : { 'vigie-sequence': String(sequence) }),
            ...(context === null ? {} : { 'vigie-context': Buffer.from(context).toString('base64url') }),
            ...trace,
            ...signatureHeaders(id, startedAt, body, token, ...secrets),
          },
          body,
        },
        this,
      );
    } catch (error) {
      this.#finish(failureOf(error as Error));
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The deadline may have passed during the connection.
    if (this.#isSettled) controller.abort(new AttemptFailure('timeout', 'the time limit of the attempt is over'));
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    _statusCode: number,
    _headers: unknown,
    socket: { destroy(): void },
  ): void {
    socket.destroy();
    this.#finish(new AttemptFailure('protocol', 'the endpoint switched protocols'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    if (statusCode >= 200) this.#statusCode = statusCode;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const missing = RESPONSE_HEAD_BYTES - this.#bytesRead;
    // Copied, because the chunk is a view of the connection's buffer.
    if (missing > 0) this.#head.push(Buffer.from(chunk.subarray(0, missing)));
    this.#bytesRead += chunk.length;
    if (this.#bytesRead > RESPONSE_BYTES_MAX) {
      this.#stop(new AttemptFailure('protocol', `the answer is longer than ${RESPONSE_BYTES_MAX} bytes`));
    }
  }

  onResponseEnd(): void {
    this.#finish(null);
  }

  /**
   * An endpoint may close a reused connection while a request is on its way. Then neither side is at fault, and the
   * request is repeated at once (RFC 9112, section 9.3.1), but only once. A second failure is the endpoint's fault.
   */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // The reused connection broke before a byte was written. A failure to connect is an `AttemptFailure`.
    const isUnsent = this.#controller === null && !(error instanceof AttemptFailure);
    const isRepeatable = isUnanswered(error) || isUnsent;
    if (!isRepeatable || this.#firstPost !== null || this.#isSettled) return this.#finish(failureOf(error));
    const afterMs = Math.round(performance.now() - this.#beganAt);
    this.#firstPost = isUnsent ? '' : `posted again after ${afterMs} ms: the kept connection broke without an answer`;
    this.#dispatch(this.#agents.fresh);
  }

  /** Ends the attempt with `failure` and closes the connection. */
  #stop(failure: AttemptFailure): void {
    this.#finish(failure);
    this.#controller?.abort(failure);
  }

  #finish(failure: AttemptFailure | null): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#deadline);
    // An attempt was made if part of the first post was written.
    if (failure instanceof NotAttempted && !this.#firstPost) return this.#settle(null);
    const [error, failed] = this.#verdict(failure);
    const reason = [failed, this.#firstPost].filter(Boolean).join('; ');
    this.#settle({
      startedAt: this.#request.startedAt,
      durationMs: performance.now() - this.#beganAt,
      statusCode: this.#statusCode,
      error,
      reason: reason === '' ? null : storable(reason).slice(0, REASON_LENGTH_MAX),
      responseHead: this.#statusCode === null ? null : textOf(this.#head),
    });
  }

  #verdict(failure: AttemptFailure | null): [AttemptError | null, string | null] {
    if (this.#statusCode === 200) return [null, null];
    if (this.#statusCode !== null) return ['status', `HTTP status ${this.#statusCode}`];
    if (failure === null) return ['protocol', 'the answer has no status'];
    return [failure.kind, failure.message];
  }
}

function originOf({ protocol, host }: URL, clientId: string): string {
  return `${protocol}//${clientId}@${host}`;
}

/** Omits an incomplete character at the end. */
function textOf(chunks: readonly Buffer[]): string {
  return storable(new TextDecoder().decode(Buffer.concat(chunks), { stream: true }));
}
