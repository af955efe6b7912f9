/**
 * How many connections one address and one client may have. They count for the address until a request on them has been
 * authenticated, and for its client from then on. Those of proxies, which speak for many, are not counted.
 */

import { type BlockList, isIPv6, type Socket } from 'node:net';
import type { Uuid } from '../engine/domain/ids.ts';

export interface ConnectionLimits {
  /** For the server's event; what is one too many is closed unheard. */
  readonly onConnection: (socket: Socket) => void;
  /** Call it for each request whose client is known. False when that client has too many connections. */
  readonly noteAuthenticated: (socket: Socket, clientId: Uuid) => boolean;
}

/** Twenty browsers behind one address have their pages on fewer. */
const STRANGERS_PER_ADDRESS_MAX = 64;
/** Of all connections that there may be. */
const CLIENT_SHARE = 1 / 4;
const ADDRESS = 'address ';

export function createConnectionLimits(proxies: BlockList, connectionsMax: number): ConnectionLimits {
  const perClientMax = Math.max(1, Math.floor(connectionsMax * CLIENT_SHARE));
  const counts = new Map<string, number>();
  /** Whom a connection counts for. */
  const holders = new Map<Socket, string>();

  function enter(socket: Socket, holder: string, max: number): boolean {
    const count = counts.get(holder) ?? 0;
    if (count >= max) return false;
    counts.set(holder, count + 1);
    holders.set(socket, holder);
    return true;
  }

  function leave(socket: Socket): void {
    const holder = holders.get(socket);
    if (holder === undefined) return;
    holders.delete(socket);
    const count = (counts.get(holder) ?? 1) - 1;
    if (count === 0) counts.delete(holder);
    else counts.set(holder, count);
  }

  return {
    onConnection(socket) {
      const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
      if (address === '' || proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return;
      if (!enter(socket, ADDRESS + networkOf(address), STRANGERS_PER_ADDRESS_MAX)) return void socket.destroy();
      socket.once('close', () => leave(socket));
    },
    noteAuthenticated(socket, clientId) {
      if (holders.get(socket)?.startsWith(ADDRESS) !== true) return true;
      leave(socket);
      return enter(socket, clientId, perClientMax);
    },
  };
}

/** What one customer of an access provider is given: an address, or of the sixth version a network of 64 bits. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(Math.max(0, 8 - groups.length - behind.length)).fill('0');
  return [...groups, ...zeros, ...behind].slice(0, 4).join(':');
}
