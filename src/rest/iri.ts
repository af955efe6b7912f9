/** IRIs that clients send to name our resources: paths, or the same with protocol and host, if the host is ours. */

const PROTOCOL = /^https?:\/\//i;

/**
 * The path of `iri`, null when it is of another service. `baseUrl` is what clients reach this one under; the protocol is
 * not compared, because a proxy may have changed it.
 */
export function ownPath(iri: string, baseUrl: string): string | null {
  if (!PROTOCOL.test(iri)) return iri;
  const [address, base] = [iri.replace(PROTOCOL, ''), baseUrl.replace(PROTOCOL, '')];
  const isOurs = base !== '' && address.slice(0, base.length + 1).toLowerCase() === `${base.toLowerCase()}/`;
  return isOurs ? address.slice(base.length) : null;
}
