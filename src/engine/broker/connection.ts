/** The connection to NATS. In the daemon, only this folder imports `nats`. */

import type { Socket } from 'node:net';
import {
  connect,
  ErrorCode,
  Events,
  type JetStreamClient,
  type JetStreamManager,
  type Msg,
  type NatsConnection,
  NatsError,
  type Subscription,
} from 'nats';
import { inTime, pause } from '../actor/waiting.ts';
import { type BrokerNames, brokerNames, type DatabaseLabel } from '../domain/namespace.ts';
import { BrokerUnavailableError, BrokerUnfitError, brokerUnreachable, isNatsError, NO_LEADER } from './outage.ts';

/** How long requests and publishes wait for their answers. Messages published while disconnected are lost. */
export const REQUEST_TIMEOUT_MS = 5_000;
/** The status with which NATS answers a request that has no subscriber. */
export const STATUS_NO_RESPONDERS = 503;

export interface Broker {
  /** Names of this installation's streams, consumers and subjects. */
  readonly names: BrokerNames;
  /** Number of replicas of each stream that this process creates. */
  readonly replicas: number;
  /** The label of the database that owns the created streams and consumers; null for a command, which owns none. */
  readonly database: DatabaseLabel | null;
  readonly connection: NatsConnection;
  readonly jetStream: JetStreamClient;
  readonly manager: JetStreamManager;
  /** For example `2.10.27`. Servers silently ignore unknown fields, so check the version before sending such fields. */
  readonly serverVersion: string;
  /** Number of configured server addresses. */
  readonly addresses: number;
  isConnected(): boolean;
  /** Number of disconnections so far. Messages in transit may have been lost at each of them. */
  readonly disconnections: number;
  close(): Promise<void>;
}

export interface BrokerOptions {
  /** One server, or several servers of one cluster separated by commas. */
  readonly url: string;
  readonly name: string;
  /** Default 1. */
  readonly replicas?: number;
  readonly database?: DatabaseLabel | null;
  /** Null, which is the default, if the installation does not share its NATS server. */
  readonly namespace?: string | null;
  /** Called at each disconnection, reconnection and error. The client never stops trying to reconnect. */
  readonly onStatus?: (status: 'disconnected' | 'reconnected' | 'error', detail: string) => void;
}

/** If a server does not answer within this time, the client tries the next server of the cluster. */
const CONNECT_TIMEOUT_MS = 3_000;
/** How long to wait for a leader. A cluster that has lost its leader elects another within seconds, later if busy. */
const ELECTION_MAX_MS = 30_000;
/** At start-up, if JetStream has no leader or does not answer for this long, the next server is tried. */
const SILENT_MAX_MS = 10_000;
const RETRY_EVERY_MS = 500;
const SILENCE: string = ErrorCode.Timeout;
/** Pause before a subscription is renewed after an error. */
const LISTEN_AGAIN_MS = 2_000;
/** JetStream's code for "no suitable peers for placement". */
const NO_PEERS = 10_005;
/** How long to wait for a missing server of the cluster. The operator's service manager usually restarts it. */
export const PEERS_MAX_MS = 300_000;

/** Rejects with `BrokerUnreachableError` if no server is reachable and suitable. Its message names a remedy. */
export async function connectBroker(options: BrokerOptions): Promise<Broker> {
  const configured = serversOf(options.url);
  const { replicas = 1 } = options;
  const { connection, manager } = await connectAnswering(configured, options);
  let isConnected = true;
  let disconnections = 0;
  void followStatus(connection, (status, detail) => {
    if (status !== 'error') isConnected = status === 'reconnected';
    if (status === 'disconnected') disconnections += 1;
    options.onStatus?.(status, detail);
  });
  return {
    names: brokerNames(options.namespace ?? null),
    replicas,
    database: options.database ?? null,
    connection,
    manager,
    jetStream: connection.jetstream({ timeout: REQUEST_TIMEOUT_MS }),
    serverVersion: connection.info?.version ?? 'unknown',
    addresses: configured.servers.length,
    isConnected: () => isConnected && !connection.isClosed(),
    get disconnections() {
      return disconnections;
    },
    close: () => connection.close(),
  };
}

/**
 * Tries the servers in turn, because a server that is cut off from its cluster accepts connections although its
 * JetStream does not answer.
 */
async function connectAnswering(
  { servers, ...credentials }: ReturnType<typeof serversOf>,
  { url, name, replicas = 1 }: BrokerOptions,
): Promise<{ readonly connection: NatsConnection; readonly manager: JetStreamManager }> {
  const first = Math.floor(Math.random() * servers.length);
  let inTurn = [...servers.slice(first), ...servers.slice(0, first)];
  for (let left = servers.length; ; left -= 1) {
    const connection = await connectTo(inTurn, credentials, name).catch((cause: Error) => {
      throw brokerUnreachable(url, cause);
    });
    try {
      return { connection, manager: await managerOf(connection, replicas, left > 1 ? SILENT_MAX_MS : ELECTION_MAX_MS) };
    } catch (error) {
      const server = connection.getServer();
      // An open connection would keep a failed process alive.
      await connection.close();
      if (left <= 1 || !isElection(error)) throw brokerUnreachable(url, error as Error);
      const used = inTurn.findIndex((one) => one.endsWith(server));
      // If the client has connected under another name of the server, the first address counts as used.
      const next = used === -1 ? 1 : used + 1;
      inTurn = [...inTurn.slice(next), ...inTurn.slice(0, next)];
    }
  }
}

/** Connects to the first server that accepts a connection. */
async function connectTo(
  servers: string[],
  credentials: Omit<ReturnType<typeof serversOf>, 'servers'>,
  name: string,
): Promise<NatsConnection> {
  const connection = await connect({
    ...credentials,
    servers,
    noRandomize: true,
    name,
    timeout: CONNECT_TIMEOUT_MS,
    maxReconnectAttempts: -1,
    // Keep reconnecting after two refusals of the credentials, because the operator may correct the password.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    pingInterval: 5_000,
    maxPingOut: 2,
    // Stack traces for requests would take a tenth of intake's CPU time.
    noAsyncTraces: true,
  });
  closeWhatIsLeft(connection);
  return connection;
}

/**
 * Closes connections that the client (2.29.3) leaves open after a server has not answered in time. When such a
 * connection ends later, the client treats its current connection as lost and opens another. One parser then reads
 * both, which corrupts messages. The client calls `discard` on connections that it leaves, but its `discard` is empty.
 */
function closeWhatIsLeft(connection: NatsConnection): void {
  const { transport } = (connection as unknown as { readonly protocol: { readonly transport: object } }).protocol;
  Object.assign(Object.getPrototypeOf(transport), {
    discard(this: { readonly socket?: Socket }) {
      this.socket?.destroy();
    },
  });
}

/**
 * Subscribes, and renews the subscription after an error such as a refused permission. Returns a function that
 * unsubscribes. `queue` names a group of subscribers; each message reaches one of them.
 */
export function listen(
  { connection }: Broker,
  subject: string,
  listener: (message: Msg) => void,
  queue?: string,
): () => void {
  let hasEnded = false;
  const subscribe = (): Subscription =>
    connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback(error, message) {
        if (error === null) return listener(message);
        void pause(LISTEN_AGAIN_MS).then(() => {
          if (!hasEnded && !connection.isClosed()) subscription = subscribe();
        });
      },
    });
  let subscription = subscribe();
  return () => {
    hasEnded = true;
    subscription.unsubscribe();
  };
}

async function managerOf(
  connection: NatsConnection,
  replicas: number,
  electionMaxMs: number,
): Promise<JetStreamManager> {
  // Only a server that belongs to a cluster reports a cluster.
  if (replicas > 1 && connection.info?.cluster === undefined) {
    const reason = `it is one server, but VIGIE_NATS_REPLICAS asks for ${replicas} copies`;
    throw new BrokerUnfitError(reason, 'Correct NATS_URL or VIGIE_NATS_REPLICAS.');
  }
  return onceElected(() => connection.jetstreamManager({ timeout: REQUEST_TIMEOUT_MS }), electionMaxMs);
}

/** Splits the setting, because the client library expects addresses without credentials and one set of credentials. */
function serversOf(url: string): { servers: string[]; user?: string; pass?: string; token?: string } {
  const urls = url.split(',').map((each) => new URL(each.trim()));
  const servers = urls.map(({ protocol, host }) => (protocol === 'tls:' ? `tls://${host}` : host));
  const { username, password } = urls.find((each) => each.username !== '') ?? { username: '', password: '' };
  if (username === '') return { servers };
  if (password === '') return { servers, token: decodeURIComponent(username) };
  return { servers, user: decodeURIComponent(username), pass: decodeURIComponent(password) };
}

/** Retries a request while `isElection` is true of its error, for a limited time. Rethrows any other error at once. */
export async function onceElected<T>(ask: () => Promise<T>, electionMaxMs = ELECTION_MAX_MS): Promise<T> {
  for (const beganAt = performance.now(); ; await pause(RETRY_EVERY_MS)) {
    try {
      return await ask();
    } catch (error) {
      const maxMs = isNatsError(error, NO_PEERS) ? PEERS_MAX_MS : electionMaxMs;
      if (!isElection(error) || performance.now() - beganAt > maxMs) throw error;
    }
  }
}

/** True if too few servers are available for a stream, or JetStream has no leader or does not answer. */
function isElection(error: unknown): boolean {
  const isSilent = error instanceof NatsError && error.code === SILENCE;
  return isSilent || isNatsError(error, NO_LEADER) || isNatsError(error, NO_PEERS);
}

async function followStatus(
  connection: NatsConnection,
  onStatus: NonNullable<BrokerOptions['onStatus']>,
): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === Events.Disconnect) onStatus('disconnected', detailOf(status.data));
    if (status.type === Events.Reconnect) onStatus('reconnected', detailOf(status.data));
    if (status.type === Events.Error) onStatus('error', detailOf(status.data));
  }
}

/** For these events, the client passes a server's address or an error code, although its type allows other values. */
function detailOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const ADVISORIES = '$JS.EVENT.ADVISORY.API';
const ACCOUNT_INFO = '$JS.API.INFO';
const ANSWER_MAX_MS = 1_000;

/** Intake pauses if the clock of NATS is further behind the clocks of the daemon and PostgreSQL. */
export const BROKER_BEHIND_MAX_MS = 60_000;

/**
 * Returns a function that reads the time of NATS, in milliseconds since the epoch. It uses the advisory that JetStream
 * publishes for each API call (`io.nats.jetstream.advisory.v1.api_audit`), because servers below 2.10 include no time
 * in their answers. It rejects if NATS is unavailable. If the user may not subscribe to advisories, it tries only once,
 * because each refusal is reported as an error of the connection.
 */
export function brokerClock({ connection, manager }: Broker): () => Promise<number> {
  let refusal: Error | null = null;
  return async () => {
    if (refusal !== null) throw refusal;
    let end = (): void => undefined;
    const published = new Promise<number>((resolve, reject) => {
      const subscription = connection.subscribe(ADVISORIES, {
        callback(error, message) {
          refusal = error;
          if (error !== null) return reject(error);
          const { subject, timestamp } = message.json<{ subject: string; timestamp: string }>();
          if (subject === ACCOUNT_INFO) resolve(Date.parse(timestamp));
        },
      });
      end = () => subscription.unsubscribe();
    });
    try {
      const late = (): Error => new BrokerUnavailableError('NATS does not report its time');
      const [atMs] = await inTime(Promise.all([published, manager.getAccountInfo()]), ANSWER_MAX_MS, late);
      return atMs;
    } finally {
      end();
    }
  };
}
