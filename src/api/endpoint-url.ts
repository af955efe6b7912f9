/**
 * Which URLs a client may name as an endpoint (decisions, section 2). This is a courtesy at the time of writing; the
 * courier checks the addresses again at each connection, when names have become addresses.
 */

import ipaddr from 'ipaddr.js';

/** What is wrong with `text` as an endpoint, or null when it may be one. */
export function endpointFault(text: string, allowPrivate: boolean): string | null {
  const url = parseUrl(text);
  if (url === null) return 'must be an absolute URL';
  const isWeb = url.protocol === 'https:' || (allowPrivate && url.protocol === 'http:');
  if (!isWeb) return allowPrivate ? 'must be an https or http URL' : 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not contain credentials';
  if (!allowPrivate && isPrivateHost(url.hostname)) return 'must not point into a private network';
  return null;
}

/** URL parsers drop tabs and line breaks and trim blanks: what is stored must be what is called. */
function parseUrl(text: string): URL | null {
  const isClean = /^[^\s\p{Cc}]+$/u.test(text);
  return isClean && URL.canParse(text) ? new URL(text) : null;
}

const PRIVATE_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa)\.?$/;

/** `hostname` as the URL parser writes it: IPv4 in any notation is dotted decimal by then. */
function isPrivateHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (ipaddr.isValid(address)) return ipaddr.parse(address).range() !== 'unicast';
  return PRIVATE_NAME.test(hostname) || !hostname.includes('.');
}
