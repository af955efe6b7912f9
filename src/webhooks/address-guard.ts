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

/**
 * False for anything that is no address. IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo) are
 * refused whatever they carry: no honest endpoint needs them, and a translator beyond us decides where they lead.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (METADATA_ADDRESSES.has(address.toString())) return false;
  if (address instanceof ipaddr.IPv6 && !address.match(GLOBAL_UNICAST)) return false;
  return address.range() === 'unicast';
}
