/** The connection to NATS. This folder is the only importer of `nats`; the rest of the service sees its own words. */

import { connect, Events, type JetStreamClient, type JetStreamManager, type NatsConnection } from 'nats';
import { brokerUnreachable } from './unreachable.ts';

/** Publishes made while disconnected are lost, so each waits this long for its acknowledgement. */
export const REQUEST_TIMEOUT_MS = 5_000;
/** Of an answer that the server gives where nobody listens. */
export const STATUS_NO_RESPONDERS = 503;

export interface Broker {
  readonly connection: NatsConnection;
  readonly jetStream: JetStreamClient;
  readonly manager: JetStreamManager;
  /** For example `2.10.27`. Fields that a server does not know are ignored silently, so ask before sending them. */
  readonly serverVersion: string;
  isConnected(): boolean;
  /** How often the connection has broken: what was on its way then is lost. */
  readonly disconnections: number;
  close(): Promise<void>;
}

export interface BrokerOptions {
  readonly url: string;
  readonly name: string;
  /** Told of disconnections and reconnections; the client reconnects by itself, for ever. */
  readonly onStatus: (status: 'disconnected' | 'reconnected' | 'error', detail: string) => void;
}

/** Throws `BrokerUnreachableError` when the server cannot be reached, refuses the credentials or has no JetStream. */
export async function connectBroker(options: BrokerOptions): Promise<Broker> {
  const connection = await connect({
    ...serverOf(options.url),
    name: options.name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    pingInterval: 5_000,
    maxPingOut: 2,
    // One stack trace a request is a tenth of the intake's time.
    noAsyncTraces: true,
  }).catch((cause: Error) => {
    throw brokerUnreachable(options.url, cause);
  });
  const manager = await connection.jetstreamManager({ timeout: REQUEST_TIMEOUT_MS }).catch(async (error: Error) => {
    // Left open, it would keep a process alive that has given up.
    await connection.close();
    throw brokerUnreachable(options.url, error);
  });
  let isConnected = true;
  let disconnections = 0;
  void followStatus(connection, (status, detail) => {
    if (status !== 'error') isConnected = status === 'reconnected';
    if (status === 'disconnected') disconnections += 1;
    options.onStatus(status, detail);
  });
  return {
    connection,
    manager,
    jetStream: connection.jetstream({ timeout: REQUEST_TIMEOUT_MS }),
    serverVersion: connection.info?.version ?? 'unknown',
    isConnected: () => isConnected && !connection.isClosed(),
    get disconnections() {
      return disconnections;
    },
    close: () => connection.close(),
  };
}

/** The client takes credentials apart from the address. */
function serverOf(url: string): { servers: string; user?: string; pass?: string; token?: string } {
  const { username, password, host, protocol } = new URL(url);
  const servers = protocol === 'tls:' ? `tls://${host}` : host;
  if (username === '') return { servers };
  if (password === '') return { servers, token: decodeURIComponent(username) };
  return { servers, user: decodeURIComponent(username), pass: decodeURIComponent(password) };
}

async function followStatus(connection: NatsConnection, onStatus: BrokerOptions['onStatus']): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === Events.Disconnect) onStatus('disconnected', detailOf(status.data));
    if (status.type === Events.Reconnect) onStatus('reconnected', detailOf(status.data));
    if (status.type === Events.Error) onStatus('error', detailOf(status.data));
  }
}

/** A server's address or an error code as text; a change of the cluster as JSON. */
function detailOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
