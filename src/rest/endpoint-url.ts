/**
 * Which URLs a client may name as an endpoint (decisions, section 2). Hosts are judged by the code that judges them when
 * they are dialled (delivery/connector.ts), where names have become addresses; ports are judged here alone, so that
 * what was saved under other rules keeps working.
 */

import { hostFault } from '../engine/delivery/connector.ts';
import { FAULTS, type Sentence } from './sentences.ts';

/** From one port to another, both of them included. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

export interface EndpointRules {
  /** True where plain `http` and private hosts may be endpoints, as in the demo. */
  readonly allowPrivateEndpoints: boolean;
  readonly endpointPorts: readonly PortRange[];
}

/** What is wrong with `text` as an endpoint, or null when it may be one. */
export function endpointFault(text: string, { allowPrivateEndpoints, endpointPorts }: EndpointRules): Sentence | null {
  const url = parseUrl(text);
  if (url === null) return FAULTS.absoluteUrl;
  const isWeb = url.protocol === 'https:' || (allowPrivateEndpoints && url.protocol === 'http:');
  if (!isWeb) return allowPrivateEndpoints ? FAULTS.httpsOrHttp : FAULTS.https;
  if (url.username !== '' || url.password !== '') return FAULTS.credentials;
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (!endpointPorts.some(({ from, to }) => from <= port && port <= to)) {
    return FAULTS.ports(endpointPorts.map(nameOf).join(', '));
  }
  if (!allowPrivateEndpoints && hostFault(url.hostname) !== null) return FAULTS.privateNetwork;
  return null;
}

function nameOf({ from, to }: PortRange): string {
  return from === to ? String(from) : `${from} to ${to}`;
}

/** URL parsers drop tabs and line breaks and trim blanks: what is stored must be what is called. */
function parseUrl(text: string): URL | null {
  const isClean = /^[^\s\p{Cc}]+$/u.test(text);
  return isClean && URL.canParse(text) ? new URL(text) : null;
}
