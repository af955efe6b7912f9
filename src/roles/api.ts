/** Opens the REST API of clients. */

import type { BlockList, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { announceChange, onChange, onFeed } from '../engine/broker/announcements.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import type { Matcher } from '../engine/intake/matcher.ts';
import { keepPoints } from '../engine/maintenance/imported-points.ts';
import { sortPlaces } from '../engine/reference/communes.ts';
import { type Database, openDatabase } from '../engine/store/database.ts';
import { isDatabaseOutage } from '../engine/store/outage.ts';
import { FEATURES } from '../features.ts';
import { createApi } from '../rest/api.ts';
import { isListed } from '../rest/content.ts';
import type { ApiLogger } from '../rest/dependencies.ts';
import { ConcurrencyLimit, type Leave } from '../rest/limits.ts';
import { LIMITED } from '../rest/sentences.ts';
import { VERSION } from '../version.ts';
import { openSender } from './deliver.ts';
import { QUESTION_STATEMENT_MS } from './foundation.ts';
import { closeServer, createHttpServer, listen } from './http-server.ts';
import type { Parts } from './parts.ts';

/** Resolves with the URL of the API. */
export async function openApi(parts: Parts, databaseUrl: string, matcher: Matcher | null): Promise<string> {
  const { config, database, broker, announcer, reference, observers, onTransientError } = parts;
  const { ending, announced, draining, closing } = parts;
  const points = await keepPoints(database, onTransientError);
  closing('points of interest', () => points.stop());
  const sender = openSender(parts);
  const queryDatabase = openApart(parts, {
    url: databaseUrl,
    connectionsMax: config.questionConnectionsMax,
    statementTimeoutMs: QUESTION_STATEMENT_MS,
  });
  // For the lookup of API keys and of tokens in links. One connection, because any caller may try random values.
  const publicDatabase = openApart(parts, { url: databaseUrl, connectionsMax: 1 });
  const connectionLimits = createConnectionLimits(config.api.proxies, config.api.connectionsMax);
  sortPlaces(reference);
  const api = createHttpServer(
    createApi({
      database,
      queryDatabase,
      askThread: parts.askThread,
      prepareEstimate: FEATURES.find(({ estimate }) => estimate)?.estimate?.(database),
      publicDatabase,
      isStoreFull: () => parts.fullServers.isFull('PostgreSQL'),
      onAuthenticated: connectionLimits.noteAuthenticated,
      reference,
      settings: {
        ...{ ...config, ...config.api },
        isMailAvailable: config.mail !== null,
        isConsentRequired: config.isMailConsentRequired,
        version: VERSION,
      },
      keepChoice: FEATURES.find(({ keepChoice }) => keepChoice)?.keepChoice?.(parts),
      logger: loggerOf(parts),
      now: () => new Date(),
      pointsOfInterest: points.current,
      onFeed: (listener) => onFeed(broker, listener),
      ending,
      announceDue: announcer.announce,
      secretsChanged: () => announceChange(broker, 'secrets'),
      deliverOnce: (delivery) => sender.send(delivery),
      onKeyChange: (listener) => onChange(broker, 'keys', listener),
      searchChanged: searchAnnouncer(parts, matcher),
    }).callback(),
    config.api,
  );
  api.on('connection', connectionLimits.onConnection);
  observers.observeRequests(api);
  const url = await listen(api, config.api, ending);
  draining('api', async () => {
    await announced();
    await closeServer(api, sender.close);
  });
  return url;
}

/**
 * Returns a function that announces a stored change of a search. It resolves when this process uses the change, or if
 * the matcher fails or takes too long, because a stored change must not seem to have failed.
 */
export function searchAnnouncer(
  { broker, onTransientError }: Pick<Parts, 'broker' | 'onTransientError'>,
  matcher: Pick<Matcher, 'refresh'> | null,
) {
  return async (): Promise<void> => {
    announceChange(broker, 'searches');
    await matcher?.refresh().catch((error: Error) => onTransientError('refresh', error));
  };
}

/** Logs an outage once, instead of for each request that it affects. */
function loggerOf({ log, onTransientError }: Parts): ApiLogger {
  return {
    debug: log.debug.bind(log),
    info: log.info.bind(log),
    warn: log.warn.bind(log),
    error(fields, message) {
      if (isDatabaseOutage(fields.err)) onTransientError('request', fields.err as Error);
      else log.error(fields, message);
    },
  };
}

type Connections = Pick<Parameters<typeof openDatabase>[0], 'url' | 'connectionsMax' | 'statementTimeoutMs'>;

/** Opens connections that no other work of this process uses. */
function openApart({ onTransientError, closing }: Parts, connections: Connections): Database {
  const onConnectionLost = (error: Error) => onTransientError('connection to PostgreSQL', error);
  const database = openDatabase({ ...connections, onConnectionLost });
  closing('connections of the API', () => database.end());
  return database;
}

/** Enough for the pages of twenty browsers behind one address. */
const UNAUTHENTICATED_PER_ADDRESS_MAX = 64;
/** Maximum share of all allowed connections per client. */
const CLIENT_SHARE = 1 / 4;

/**
 * Limits the connections per address and per client. A connection counts for its address until one of its requests is
 * authenticated, and then for its client. Connections of proxies are not counted, because they serve many clients.
 */
export function createConnectionLimits(proxies: BlockList, connectionsMax: number) {
  const perClientMax = Math.max(1, Math.floor(connectionsMax * CLIENT_SHARE));
  const ofAddresses = new ConcurrencyLimit(LIMITED.connections, {
    perClientMax: UNAUTHENTICATED_PER_ADDRESS_MAX,
    allMax: Infinity,
  });
  const ofClients = new ConcurrencyLimit(LIMITED.connections, { perClientMax, allMax: Infinity });
  /** For each socket without an authenticated request: the function that stops counting it for its address. */
  const leaveAddress = new WeakMap<Socket, Leave>();
  return {
    /** Handles the server's event `connection`. An excess connection is closed at once. */
    onConnection(socket: Socket) {
      const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
      if (address === '' || isListed(proxies, address)) return;
      const leave = ofAddresses.tryEnter(networkOf(address));
      if (leave === null) return void socket.destroy();
      leaveAddress.set(socket, leave);
      socket.once('close', leave);
    },
    /** Call this for each authenticated request. Returns false if that client has too many connections. */
    noteAuthenticated(socket: Socket, clientId: Uuid) {
      const leave = leaveAddress.get(socket);
      // A socket that was closed during the authentication emits no further event, so its count would never end.
      if (leave === undefined || socket.destroyed) return true;
      leave();
      leaveAddress.delete(socket);
      const leaveClient = ofClients.tryEnter(clientId);
      if (leaveClient === null) return false;
      socket.once('close', leaveClient);
      return true;
    },
  };
}

/** The range that an access provider assigns to one customer: an IPv4 address, or an IPv6 /64 network. */
function networkOf(address: string): string {
  const parsed = ipaddr.parse(address);
  return parsed.kind() === 'ipv4' ? address : parsed.toByteArray().slice(0, 8).join();
}
