/**
 * The gRPC server: the administration service, health and reflection. Plaintext is accepted only on the loopback;
 * elsewhere the server needs a certificate. If configured, a client certificate is required of every connection, and a
 * bearer token of every call except health checks. This file also limits the connections of the port. If there are too
 * many in all, or too many unauthenticated ones, it closes the oldest unauthenticated one.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import {
  type ChannelOptions,
  ResponderBuilder,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { service } from 'grpc-health-check';
import { endsWithin } from '../engine/actor/waiting.ts';
import { CALL_TIMEOUTS, type CallTimeouts } from './call.ts';
import type { AdminDependencies } from './dependencies.ts';
import {
  deadlineExceeded,
  exhausted,
  instanceStopping,
  invalidArgument,
  notFound,
  statusOf,
  unauthenticated,
} from './errors.ts';
import { AdminServiceService } from './generated/vigie/admin/v1/admin.ts';
import { createHandlers } from './handlers.ts';

const DESCRIPTORS = new URL('./generated/descriptors.binpb', import.meta.url);

export interface AdminServerSettings {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Null only if a client certificate is required. */
  readonly token: string | null;
  /** Paths of PEM files; null for plaintext. */
  readonly certificate: string | null;
  readonly privateKey: string | null;
  /** PEM file of the authorities that sign client certificates; null if no client certificate is required. */
  readonly clientAuthorities: string | null;
  readonly callTimeouts?: CallTimeouts;
  /** Maximum time for a health call to send its request. */
  readonly healthQuestionMs?: number;
}

export type AdminServer = Awaited<ReturnType<typeof startAdminServer>>;

export class AdminServerError extends Error {
  readonly code = 'ADMIN_SERVER_UNUSABLE';
}

const SERVICE_NAME = 'vigie.admin.v1.AdminService';
const MESSAGE_BYTES_MAX = 4 * 1_024 * 1_024;
const SHUTDOWN_MS = 2_000;
const OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
  'grpc.max_send_message_length': MESSAGE_BYTES_MAX,
  'grpc.max_concurrent_streams': 64,
  // Megabytes that a connection may use for its buffers. Above this, it gets no new streams. Unlimited by default.
  'grpc-node.max_session_memory': 16,
  // Clients whose idle connection was closed reconnect for their next call.
  'grpc.max_connection_idle_ms': 300_000,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
};

/** Throws `AdminServerError` when it cannot listen. */
export async function startAdminServer(settings: AdminServerSettings, dependencies: AdminDependencies) {
  const credentials = await credentialsOf(settings);
  const onAdmitted = (peer: string): void => connections.markAuthenticated(peer);
  const onRefused = (method: string, peer: string): void => {
    dependencies.onCall('UNAUTHENTICATED');
    dependencies.logger.info({ method, peer, code: 'UNAUTHENTICATED' }, 'admin call');
  };
  const interceptors = [
    requireToken(settings.token, onAdmitted, onRefused),
    boundHealthCalls(settings.healthQuestionMs),
  ];
  const server = new Server({ ...OPTIONS, interceptors });
  const stopping = new AbortController();
  const handlers = createHandlers(dependencies, stopping.signal, settings.callTimeouts ?? CALL_TIMEOUTS);
  server.addService(decodable(AdminServiceService), handlers);
  const { setServing } = addHealth(server, ['', SERVICE_NAME], stopping.signal);
  await reflect(server);
  const connections = await bind(server, settings, credentials);
  return {
    /** `host:port`. */
    address: `${bracketed(settings.host)}:${connections.port}`,
    /** Sets whether health checks report that the process accepts work. */
    setServing,
    /** Ends all watches; other calls in progress have two seconds to end. */
    async stop(): Promise<void> {
      stopping.abort(instanceStopping());
      connections.close();
      const shutDown = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      if (!(await endsWithin(shutDown, SHUTDOWN_MS))) server.forceShutdown();
      await shutDown;
      connections.destroy();
    },
  };
}

/** Reports a request that cannot be decoded, e.g. with a time beyond 2^53 seconds, as an error of the caller. */
function decodable(definition: typeof AdminServiceService): ServiceDefinition {
  const methods = Object.entries(definition).map(([name, method]) => {
    const requestDeserialize = (bytes: Buffer): unknown => {
      try {
        return method.requestDeserialize(bytes);
      } catch (error) {
        return invalidArgument('request', `cannot be decoded: ${(error as Error).message}`);
      }
    };
    return [name, method.requestStream ? method : { ...method, requestDeserialize }];
  });
  return Object.fromEntries(methods);
}

/** Passes raw descriptors: given any other form, the library would omit imported files. */
async function reflect(server: Server): Promise<void> {
  const packages = { all: { fileDescriptorProtos: await fileDescriptors() } };
  const services = [SERVICE_NAME, 'grpc.health.v1.Health'];
  new ReflectionService(packages as unknown as ConstructorParameters<typeof ReflectionService>[0], {
    services,
  }).addToServer(server);
}

/** config-conflicts.ts has already validated the combination of these settings. */
async function credentialsOf(settings: AdminServerSettings): Promise<ServerCredentials> {
  const { certificate, privateKey, clientAuthorities } = settings;
  if (certificate === null || privateKey === null) return ServerCredentials.createInsecure();
  const [chain, key, authorities] = await Promise.all([
    readFile(certificate),
    readFile(privateKey),
    clientAuthorities === null ? null : readFile(clientAuthorities),
  ]);
  const pair = { cert_chain: chain, private_key: key };
  return ServerCredentials.createSsl(authorities, [pair], authorities !== null);
}

async function bind(
  server: Server,
  { host, port }: AdminServerSettings,
  credentials: ServerCredentials,
): Promise<Connections> {
  const injector = server.createConnectionInjector(credentials);
  try {
    return await openConnections(host, port, (socket) => injector.injectConnection(socket));
  } catch (cause) {
    const { message } = cause as Error;
    const sentence = `Cannot listen on ${bracketed(host)}:${port} (${message}). Correct VIGIE_ADMIN_ADDRESS.`;
    throw new AdminServerError(sentence, { cause });
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** The file descriptors that `npm run generate` writes, imported files first. */
async function fileDescriptors(): Promise<Buffer[]> {
  const { file } = fromBinary(FileDescriptorSetSchema, await readFile(DESCRIPTORS));
  return file.map((each) => Buffer.from(toBinary(FileDescriptorProtoSchema, each)));
}

const BEARER = /^bearer +(\S+)$/i;

/**
 * `token`: null when client certificates already authenticate every caller. `onRefused` is called when the token of a
 * call is missing or wrong. `peer`: `address:port`.
 */
function requireToken(
  token: string | null,
  onAdmitted: (peer: string) => void,
  onRefused: (method: string, peer: string) => void,
): ServerInterceptor {
  const expected = token === null ? null : hashOf(token);
  return (method, call) => {
    if (isHealthCall(method.path)) return new ServerInterceptingCall(call);
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        const [, sent = ''] = BEARER.exec(String(metadata.get('authorization')[0] ?? '')) ?? [];
        if (expected === null || timingSafeEqual(hashOf(sent), expected)) {
          onAdmitted(call.getPeer());
          return next(metadata);
        }
        onRefused(method.path, call.getPeer());
        call.sendStatus(statusOf(unauthenticated()));
      })
      .build();
    return new ServerInterceptingCall(call, new ResponderBuilder().withStart((next) => next(listener)).build());
  };
}

/** Hashes have equal lengths, as `timingSafeEqual` requires. */
function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const CONNECTIONS_MAX = 64;
const UNAUTHENTICATED_MAX = 16;

type Connections = Awaited<ReturnType<typeof openConnections>>;

/**
 * Passes each connection to `serve`. `port`: 0 takes a free port. Rejects when the address is in use or unavailable.
 */
async function openConnections(host: string, port: number, serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  /** Unauthenticated connections by peer, oldest first. */
  const unknownPeers = new Map<string, Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.add(socket);
    unknownPeers.set(peer, socket);
    socket.once('close', () => {
      sockets.delete(socket);
      if (unknownPeers.get(peer) === socket) unknownPeers.delete(peer);
    });
    // Until the HTTP/2 session begins, nothing else handles errors of the connection.
    socket.on('error', () => socket.destroy());
    serve(socket);
    if (unknownPeers.size <= UNAUTHENTICATED_MAX && sockets.size <= CONNECTIONS_MAX) return;
    const [longest] = unknownPeers.values();
    longest?.destroy();
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as { readonly port: number }).port,
    /** `peer`: `address:port`, as grpc-js writes it. */
    markAuthenticated: (peer: string): void => void unknownPeers.delete(peer),
    /** Accepts no more connections; open ones stay open. */
    close: () => void server.close(),
    /** Closes the open connections. */
    destroy(): void {
      for (const socket of sockets) socket.destroy();
    },
  };
}

type Serving = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
interface Question {
  readonly service: string;
}
interface Answer {
  readonly status: Serving;
}
type Watcher = ServerWritableStream<Question, Answer>;

const HEALTH_PATH = '/grpc.health.v1.Health/';
const WATCHERS_MAX = 16;
/** Maximum number of concurrent health calls: the incomplete request of each may take 4 MiB of memory. */
const CALLS_MAX = 32;
const QUESTION_MS = 10_000;

function isHealthCall(path: string): boolean {
  return path.startsWith(HEALTH_PATH);
}

/**
 * The health service (grpc.health.v1) is the only one without a token, so `boundHealthCalls` limits its calls and
 * the time for their requests. Only its definition is from grpc-health-check, whose implementation would store every
 * service name that callers watch. `names`: the services that have a status. `stopping` ends the watches.
 */
function addHealth(server: Server, names: readonly string[], stopping: AbortSignal) {
  let current: Serving = 'SERVING';
  const watchers = new Set<Watcher>();
  stopping.addEventListener('abort', () => {
    for (const watcher of watchers) watcher.emit('error', statusOf(instanceStopping()));
  });
  server.addService(service, {
    check({ request }: ServerUnaryCall<Question, Answer>, callback: sendUnaryData<Answer>) {
      if (names.includes(request.service)) callback(null, { status: current });
      else callback(statusOf(notFound('Service', 'such service')));
    },
    list(_call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) {
      callback(null, { statuses: Object.fromEntries(names.map((name) => [name, { status: current }])) });
    },
    watch(watcher: Watcher) {
      if (watchers.size >= WATCHERS_MAX) {
        watcher.emit(
          'error',
          statusOf(exhausted('TOO_MANY_WATCHERS', `At most ${WATCHERS_MAX} clients can watch. Try again later.`)),
        );
        return;
      }
      watchers.add(watcher);
      watcher.on('cancelled', () => watchers.delete(watcher));
      watcher.write({ status: names.includes(watcher.request.service) ? current : 'SERVICE_UNKNOWN' });
    },
  });
  return {
    /** Notifies the watchers. */
    setServing(isServing: boolean) {
      const next = isServing ? 'SERVING' : 'NOT_SERVING';
      if (next === current) return;
      current = next;
      for (const watcher of watchers) {
        if (names.includes(watcher.request.service)) watcher.write({ status: current });
      }
    },
  };
}

/** Ends health calls above the limit, and those whose request does not arrive. */
function boundHealthCalls(questionMs: number = QUESTION_MS): ServerInterceptor {
  let calls = 0;
  return (method, call) => {
    if (!isHealthCall(method.path)) return new ServerInterceptingCall(call);
    let timer: NodeJS.Timeout | undefined;
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        if (calls >= CALLS_MAX) {
          call.sendStatus(
            statusOf(exhausted('TOO_MANY_CALLS', `At most ${CALLS_MAX} health checks run at once. Try again later.`)),
          );
          return;
        }
        calls += 1;
        timer = setTimeout(() => call.sendStatus(statusOf(deadlineExceeded())), questionMs);
        next(metadata);
      })
      .withOnReceiveMessage((message, next) => {
        clearTimeout(timer);
        next(message);
      })
      // Called whenever either side ends the call.
      .withOnCancel(() => {
        if (timer === undefined) return;
        clearTimeout(timer);
        calls -= 1;
      })
      .build();
    return new ServerInterceptingCall(call, new ResponderBuilder().withStart((next) => next(listener)).build());
  };
}
