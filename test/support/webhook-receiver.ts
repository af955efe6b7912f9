/**
 * A client's endpoint for tests and benches: a real HTTP(S) server on loopback that behaves as scripted for each path,
 * and records every POST. `delivery-auditor.ts` compares its log with that of the service.
 */

import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { generate } from 'selfsigned';
import type { Cleanup } from './servers.ts';
import type { TcpProxy } from './tcp-proxy.ts';
import { GIVE_UP_MS, givenUp } from './until.ts';

export type Behaviour =
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  /** Reads the request and never answers. */
  | { readonly type: 'hang' }
  /** Status 200, then one byte every `everyMs`; with `head`, the status line itself is sent this slowly. */
  | { readonly type: 'trickle'; readonly everyMs: number; readonly part: 'head' | 'body' }
  /** The status, then bytes without end. */
  | { readonly type: 'endless'; readonly status: number }
  /** A TCP reset after the request has been read. */
  | { readonly type: 'reset' }
  /** Something that is not HTTP. */
  | { readonly type: 'garbage' }
  /** Answers when `gate` resolves. */
  | { readonly type: 'gated'; readonly gate: Promise<void>; readonly status: number };

export interface ReceivedPost {
  readonly path: string;
  /** The header `webhook-id`. */
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** When the head of the request had been read, in milliseconds since the epoch, with fractions. */
  readonly receivedAt: number;
  /** When the answer had been handed to the kernel; null if there was none. */
  answeredAt: number | null;
  /** Status sent; null if there was none. */
  status: number | null;
  /**
   * True if its kept connection was reset before a byte of the answer reached the sender, even if `status` is set. The
   * sender may then try once more within the attempt.
   */
  isAbandoned?: boolean;
}

/** The proxy in front of the receiver, which can break connections without the receiver's knowledge. */
export type Network = Pick<TcpProxy, 'passedBeforeCut'>;

export interface WebhookReceiver {
  /** Without a path. */
  readonly url: string;
  /** PEM of the certificate, which a sender must trust; null without TLS. */
  readonly authority: string | null;
  readonly posts: readonly ReceivedPost[];
  readonly connectionCount: number;
  urlOf(path: string): string;
  /** Successive POSTs to `path` get successive behaviours; the last is repeated. Unscripted paths answer 200. */
  script(path: string, ...behaviours: [Behaviour, ...Behaviour[]]): void;
  postsOf(id: string): readonly ReceivedPost[];
  /** Declares that all its connections come through `network`. */
  standBehind(network: Network): void;
  /**
   * Resolves when `condition` is true, which is checked after each request and each answer. Rejects after `giveUpMs`.
   */
  until(condition: (posts: readonly ReceivedPost[]) => boolean, giveUpMs?: number): Promise<void>;
  /** Closes every connection and stops listening. */
  close(): Promise<void>;
}

export interface ReceiverOptions {
  /** `expired`: a certificate that is valid except for its dates. */
  readonly tls?: 'valid' | 'expired';
  readonly port?: number;
  readonly host?: string;
}

/** The last request of a connection. */
interface Exchange {
  readonly post: ReceivedPost;
  /** Offset of the answer in the bytes sent over the connection. */
  readonly answerFrom: number;
}

/** Number of posts shown in the error of a wait. */
const POSTS_SHOWN_MAX = 20;

export async function startWebhookReceiver(cleanup: Cleanup, options: ReceiverOptions = {}): Promise<WebhookReceiver> {
  const posts: ReceivedPost[] = [];
  const postsById = new Map<string, ReceivedPost[]>();
  const scripts = new Map<string, { readonly behaviours: readonly Behaviour[]; used: number }>();
  const watchers = new Set<() => void>();
  const lastOf = new WeakMap<Socket, Exchange>();
  let connectionCount = 0;
  let network: Network | null = null;
  const noteChange = (): void => {
    for (const watch of watchers) watch();
  };

  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const receivedAt = now();
    response.on('error', () => undefined);
    // A request of another program that expects its own server on this port.
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const body = await bodyOf(request);
    if (body === null) return;
    const path = request.url ?? '/';
    const headers = request.headers as Record<string, string>;
    const id = headers['webhook-id'] ?? '';
    const post: ReceivedPost = { path, id, headers, body, receivedAt, answeredAt: null, status: null };
    posts.push(post);
    postsById.set(id, [...(postsById.get(id) ?? []), post]);
    const behaviour = nextBehaviour(scripts.get(path));
    if (lastOf.has(request.socket)) post.isAbandoned = behaviour.type === 'reset';
    notePost(request.socket, post);
    noteChange();
    await behave(behaviour, request, response);
    if (!response.headersSent) return;
    post.status = response.statusCode;
    post.answeredAt = now();
    noteChange();
  };
  const notePost = (socket: Socket, last: ReceivedPost): void => {
    const isKept = lastOf.has(socket);
    lastOf.set(socket, { post: last, answerFrom: socket.bytesWritten });
    if (isKept) return;
    const port = socket.remotePort as number;
    socket.once('close', () => {
      const { post, answerFrom } = lastOf.get(socket) as Exchange;
      const passed = network?.passedBeforeCut(port) ?? null;
      if (post.isAbandoned === false && passed !== null) post.isAbandoned = passed <= answerFrom;
    });
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => void onRequest(request, response);

  const identity = options.tls === undefined ? null : await certificate(options.tls === 'expired');
  const server = identity === null ? createHttpServer(listener) : createHttpsServer(identity, listener);
  server.keepAliveTimeout = 60_000;
  server.on('connection', () => {
    connectionCount += 1;
  });
  await new Promise<void>((done) => server.listen(options.port ?? 0, options.host ?? '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const url = `${identity === null ? 'http' : 'https'}://${options.host ?? '127.0.0.1'}:${port}`;

  const receiver: WebhookReceiver = {
    url,
    authority: identity?.cert ?? null,
    posts,
    get connectionCount() {
      return connectionCount;
    },
    urlOf: (path) => `${url}${path}`,
    script: (path, ...behaviours) => void scripts.set(path, { behaviours, used: 0 }),
    postsOf: (id) => postsById.get(id) ?? [],
    standBehind(all) {
      network = all;
    },
    until: (condition, giveUpMs = GIVE_UP_MS) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          watchers.delete(watch);
          const last = posts.slice(-POSTS_SHOWN_MAX).map(({ path, status }) => `${path} ${status}`);
          reject(givenUp(giveUpMs, condition, { count: posts.length, last }));
        }, giveUpMs);
        // An open server keeps the process alive. An abandoned wait must not do so afterwards.
        timer.unref();
        const watch = (): void => {
          if (!condition(posts)) return;
          watchers.delete(watch);
          clearTimeout(timer);
          resolve();
        };
        watchers.add(watch);
        watch();
      }),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  cleanup.after(() => receiver.close());
  return receiver;
}

function nextBehaviour(script: { readonly behaviours: readonly Behaviour[]; used: number } | undefined): Behaviour {
  if (script === undefined) return { type: 'answer', status: 200 };
  const behaviour = script.behaviours[Math.min(script.used, script.behaviours.length - 1)] as Behaviour;
  script.used += 1;
  return behaviour;
}

/** Resolves when the answer has been sent or, if it is slow or endless, has begun, or if there will be none. */
async function behave(behaviour: Behaviour, request: IncomingMessage, response: ServerResponse): Promise<void> {
  switch (behaviour.type) {
    case 'answer':
      response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body ?? '');
      return;
    case 'gated':
      await behaviour.gate;
      response.writeHead(behaviour.status).end();
      return;
    case 'hang':
      return;
    case 'reset':
      request.socket.resetAndDestroy();
      return;
    case 'garbage':
      request.socket.end('220 mail.example ESMTP\r\n\r\n');
      return;
    case 'trickle':
      trickle(behaviour, request, response);
      return;
    case 'endless':
      response.writeHead(behaviour.status);
      pourOut(response);
      return;
  }
}

function trickle(behaviour: Behaviour & { type: 'trickle' }, request: IncomingMessage, response: ServerResponse): void {
  let rest = behaviour.part === 'head' ? 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' : '';
  if (behaviour.part === 'body') response.writeHead(200).write(' ');
  const timer = setInterval(() => {
    if (behaviour.part === 'body') response.write(' ');
    else if (rest === '') request.socket.destroy();
    else request.socket.write(rest.slice(0, 1));
    rest = rest.slice(1);
  }, behaviour.everyMs);
  request.socket.once('close', () => clearInterval(timer));
}

function pourOut(response: ServerResponse): void {
  const chunk = Buffer.alloc(16_384, '.');
  while (!response.destroyed && response.write(chunk));
  if (!response.destroyed) response.once('drain', () => pourOut(response));
}

/** Null if the sender closed the connection in the middle of the body. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
      .on('error', () => resolve(null));
  });
}

async function certificate(isExpired: boolean): Promise<{ key: string; cert: string }> {
  const day = 24 * 3_600_000;
  const notBeforeDate = new Date(Date.now() - 30 * day);
  const pems = await generate([{ name: 'commonName', value: 'receiver.test' }], {
    keyType: 'ec',
    notBeforeDate,
    notAfterDate: new Date(notBeforeDate.getTime() + (isExpired ? 1 : 60) * day),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'receiver.test' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { key: pems.private, cert: pems.cert };
}

function now(): number {
  return performance.timeOrigin + performance.now();
}
