/**
 * Which addresses a delivery may go to. A client chooses its endpoint freely, so without this guard the service would
 * post into its operator's own network (OWASP, Server Side Request Forgery). Only public unicast is allowed, and what
 * is not known to be public is refused: the address really connected to is checked, not the name.
 */

import ipaddr from 'ipaddr.js';

/** Public by its range, yet answers inside a cloud: Azure's wire server. The others (169.254.169.254 …) are not public. */
const METADATA_ADDRESSES = new Set(['168.63.129.16']);

/** IPv6 global unicast, the only block that IANA has opened (RFC 3587). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Of the experimental 6bone, given back to IANA (RFC 3701): whoever answers there is nobody's public host. */
const FORMER_6BONE = ipaddr.IPv6.parseCIDR('3ffe::/16');

/** Names of networks that no public resolver knows (RFC 6761, 6762, 8375, and what routers and offices use). */
const PRIVATE_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa)$/;

const LABEL_LENGTH_MAX = 63;

/**
 * Why the host of a URL may not be an endpoint, or null. `hostname` as the URL parser writes it: IPv4 in any notation is
 * dotted decimal by then. Asked when an endpoint is stored and again when it is dialled; a name that passes is judged by
 * its addresses then.
 */
export function hostFault(hostname: string): string | null {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (ipaddr.isValid(address)) return isPublicAddress(address) ? null : notPublic(address);
  const name = hostname.replace(/\.$/, '').toLowerCase();
  // RFC 1035, section 2.3.4: DNS has no such name.
  if (name.split('.').some((label) => label === '' || label.length > LABEL_LENGTH_MAX)) return `${hostname} is no name`;
  if (PRIVATE_NAME.test(name) || !name.includes('.')) return `${hostname} is not a public name`;
  return null;
}

export function notPublic(address: string): string {
  return `${address} is not a public address`;
}

/**
 * False for anything that is no address. IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo) are
 * refused whatever they carry: no honest endpoint needs them, and a translator beyond us decides where they lead.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (METADATA_ADDRESSES.has(address.toString())) return false;
  if (address instanceof ipaddr.IPv6 && (!address.match(GLOBAL_UNICAST) || address.match(FORMER_6BONE))) return false;
  return address.range() === 'unicast';
}
