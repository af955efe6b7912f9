/**
 * Opens connections to endpoints. Resolves the name, refuses addresses that are not public, verifies TLS, and reports
 * which of these steps failed. Each client chooses its endpoints. Without this guard, a client could make the service
 * post into its operator's own network (OWASP, Server Side Request Forgery). Unless private networks are allowed, only
 * public unicast addresses are; unknown ranges are refused. A name is resolved once per connection, and the connection
 * uses only addresses that were checked. DNS rebinding between check and use therefore has no effect.
 */

import type { LookupFunction, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { guardAnswers } from './answer-gate.ts';
import { AttemptFailure, codeOf, describe } from './attempt-failure.ts';
import { createNameLookups, type ResolveName } from './name-lookups.ts';

export interface ConnectorOptions {
  /** Includes the name lookup, the TCP connection and the TLS handshake. */
  readonly connectTimeoutMs: number;
  /** Maximum bytes of one answer, including head and chunk framing. Above this, the connection is closed. */
  readonly answerBytesMax: number;
  /** Also allows plain http. */
  readonly allowPrivateNetworks: boolean;
  readonly resolveName?: ResolveName | undefined;
  /** Tells whether an address is public; tests replace it. */
  readonly isPublic?: ((address: string) => boolean) | undefined;
  /** PEM certificates to trust instead of the system's. */
  readonly authorities?: string | undefined;
}

/** `client` owns the endpoints. Every reported failure is an `AttemptFailure`. */
export function createConnector(options: ConnectorOptions, client = ''): buildConnector.connector {
  const { connectTimeoutMs, answerBytesMax, allowPrivateNetworks, authorities, isPublic = isPublicAddress } = options;
  const isAllowed = (address: string): boolean => allowPrivateNetworks || isPublic(address);
  const resolveName = options.resolveName ?? createNameLookups(allowPrivateNetworks);
  const open = buildConnector({
    timeout: 0,
    lookup: guardedLookup((name) => resolveName(name, client), isAllowed),
    rejectUnauthorized: true,
    ...(authorities === undefined ? {} : { ca: authorities }),
  }) as (...parameters: Parameters<buildConnector.connector>) => Socket;

  return (target, callback) => {
    const refuse = (reason: string): void =>
      queueMicrotask(() => callback(new AttemptFailure('blocked', reason), null));
    if (target.protocol !== 'https:' && !allowPrivateNetworks) return refuse('plain http is not allowed');
    const fault = allowPrivateNetworks ? null : hostFault(target.hostname);
    if (fault !== null) return refuse(fault);

    let isConnected = false;
    const socket = open(target, (error, opened) => {
      clearTimeout(timer);
      if (error === null) {
        guardAnswers(opened, answerBytesMax);
        callback(null, opened);
      } else callback(connectFailure(error, isConnected), null);
    });
    const timer = setTimeout(() => {
      const step = isConnected ? 'no TLS handshake' : 'no connection';
      socket.destroy(new AttemptFailure('timeout', `${step} within ${connectTimeoutMs} ms`));
    }, connectTimeoutMs);
    socket.once('connect', () => {
      isConnected = true;
      const address = socket.remoteAddress;
      if (address === undefined)
        socket.destroy(new AttemptFailure('reset', 'the endpoint closed the connection at once'));
      else if (!isAllowed(address)) socket.destroy(new AttemptFailure('blocked', notPublic(address)));
    });
  };
}

/** Node.js calls this function for names only. The connector itself checks literal addresses. */
function guardedLookup(
  resolveName: (name: string) => ReturnType<ResolveName>,
  isAllowed: (address: string) => boolean,
): LookupFunction {
  return (name, options, callback) => {
    const fail = (failure: AttemptFailure): void => callback(failure, '', 0);
    resolveName(name).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => isAllowed(address));
        const [first] = allowed;
        if (addresses[0] === undefined) fail(new AttemptFailure('dns', `${name} has no address`));
        else if (first === undefined) fail(new AttemptFailure('blocked', notPublic(addresses[0].address)));
        else if (options.all) callback(null, [...allowed]);
        else callback(null, first.address, first.family);
      },
      (error: Error) =>
        fail(
          error instanceof AttemptFailure
            ? error
            : new AttemptFailure('dns', `${name}: ${describe(error)}`, { cause: error }),
        ),
    );
  };
}

function connectFailure(error: Error, isConnected: boolean): AttemptFailure {
  if (error instanceof AttemptFailure) return error;
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return new AttemptFailure('timeout', describe(error), { cause: error });
  if (!isConnected) return new AttemptFailure('connect', describe(error), { cause: error });
  return new AttemptFailure(code === 'ECONNRESET' ? 'reset' : 'tls', describe(error), { cause: error });
}

/** Azure's wire server is in a public range. Other metadata addresses, such as 169.254.169.254, are not. */
const METADATA_ADDRESSES = new Set(['168.63.129.16']);
/** IPv6 global unicast, the only block that IANA has opened (RFC 3587). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** The former 6bone, an experimental block that was returned to IANA (RFC 3701). No public host uses it. */
const FORMER_6BONE = ipaddr.IPv6.parseCIDR('3ffe::/16');
/** Names of private networks (RFC 6761, 6762 and 8375, and common names in home and office networks). */
const PRIVATE_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa)$/;
const LABEL_LENGTH_MAX = 63;

/**
 * Returns why the host of a URL may not be an endpoint, or null. `hostname` is in the form of the URL parser, which
 * converts any IPv4 notation to dotted decimal. The host is checked when an endpoint is saved and before each
 * connection. Only the connector checks the addresses to which a name resolves.
 */
export function hostFault(hostname: string): string | null {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (ipaddr.isValid(address)) return isPublicAddress(address) ? null : notPublic(address);
  const name = hostname.replace(/\.$/, '').toLowerCase();
  // RFC 1035, section 2.3.4: a label has 1 to 63 octets.
  if (name.split('.').some((label) => label === '' || label.length > LABEL_LENGTH_MAX)) return `${hostname} is invalid`;
  if (PRIVATE_NAME.test(name) || !name.includes('.')) return `${hostname} is not a public name`;
  return null;
}

export function notPublic(address: string): string {
  return `${address} is not a public address`;
}

/**
 * False for text that is not an address. IPv6 forms that contain an IPv4 address (mapped, NAT64, 6to4, Teredo) are
 * always refused. No legitimate endpoint needs them, and an external translator decides which host they reach.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (METADATA_ADDRESSES.has(address.toString())) return false;
  if (address instanceof ipaddr.IPv6 && (!address.match(GLOBAL_UNICAST) || address.match(FORMER_6BONE))) return false;
  return address.range() === 'unicast';
}
