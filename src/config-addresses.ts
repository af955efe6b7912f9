/** Rules of the settings that are addresses: of servers, of mail, of map tiles. Each says what is wrong, never the value. */

import { BlockList, isIP, isIPv6 } from 'node:net';
import { z } from 'zod';

export function url(...protocols: string[]) {
  const message = `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`;
  return z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), message);
}

/** One server or several, `postgres://user@host1:5432,host2:5432/name`; the store reads them. */
export const databaseUrl = z.string().refine((value) => {
  const [, before = value, hosts = '', after = ''] = /^(\w+:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s.exec(value) ?? [];
  return hosts
    .split(',')
    .every((host) => url('postgres:', 'postgresql:').safeParse(`${before}${host}${after}`).success);
}, 'must be a URL that starts with postgres:// or postgresql://, with commas between several hosts');

/** Servers of one cluster take the same credentials; the client library sends one set to all. */
export const natsServers = z
  .string()
  .refine(
    (value) => urlsOf(value).every((each) => url('nats:', 'tls:').safeParse(each).success),
    'must be URLs that start with nats:// or tls://, with commas between them',
  )
  .refine((value) => isOne(value, ({ username, password }) => username && `${username}:${password}`), {
    message: 'must name the same user for all servers',
  })
  .refine((value) => isOne(value, ({ protocol }) => protocol), 'must not mix nats:// and tls://');

function urlsOf(value: string): readonly string[] {
  return value.split(',').map((each) => each.trim());
}

/** Whether all URLs with credentials have the same. Invalid URLs have been reported already. */
function isOne(value: string, part: (url: URL) => string): boolean {
  const urls = urlsOf(value).filter((each) => URL.canParse(each));
  return new Set(urls.map((each) => part(new URL(each))).filter((each) => each !== '')).size <= 1;
}

/** The path and the query of such a URL have no effect, which its writer would not expect. */
export const smtpServer = z
  .string()
  .refine((value) => {
    if (!URL.canParse(value)) return false;
    const { protocol, hostname, pathname, search, hash, username, password } = new URL(value);
    const isPlain = /^\/?$/.test(pathname) && search === '' && hash === '';
    const isSmtp = protocol === 'smtp:' || protocol === 'smtps:';
    return isSmtp && isPlain && hostname !== '' && (username === '') === (password === '');
  }, 'must be smtp:// or smtps://, user and password or neither, a host and perhaps a port')
  .refine((value) => !/%(?![0-9a-f]{2})/i.test(value), 'has a % that begins no escape');

/** `alerts@example.org`, or with a name before it: `Vigie <alerts@example.org>`. */
export const mailbox = z.string().refine((value) => {
  const { name, address } = mailboxOf(value);
  return /^[^\p{Cc}",;:\\()[\]]{0,100}$/u.test(name) && z.email().safeParse(address).success;
}, 'must be an e-mail address, or Name <address>');

export function mailboxOf(value: string): { readonly name: string; readonly address: string } {
  const [, name = '', address = value] = /^([^<>]*?)\s*<([^<>]*)>$/.exec(value) ?? [];
  return Object.freeze({ name, address });
}

/**
 * A tile server for the operator's own browsers: `https://tiles.example.org/{z}/{x}/{y}.png`. The console's policy
 * names its origin, so there must be one: no `{s}` for several hosts.
 */
export const tilesUrl = z.string().refine((value) => {
  const hasPlaces = ['{z}', '{x}', '{y}'].every((place) => value.includes(place));
  const isKnown = value.replaceAll(/\{[zxyr]\}/g, '').match(/[{}\s;,'"]/) === null;
  if (!hasPlaces || !isKnown || !URL.canParse(value)) return false;
  const { protocol, host, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && !host.includes('%') && username === '' && password === '';
}, 'must be an http(s) URL with {z}, {x} and {y}, on one host and without credentials');

/** Single ones and networks, `10.0.0.0/8,::1`. */
export const addresses = z.string().transform((value, context): BlockList => {
  const list = new BlockList();
  for (const each of value.split(',').map((part) => part.trim())) {
    if (each === '') continue;
    const [address = '', prefix] = each.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    const bits = prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix);
    const isNetwork = isIP(address) !== 0 && /^\d+$/.test(prefix ?? '0') && bits <= (family === 'ipv6' ? 128 : 32);
    if (isNetwork) list.addSubnet(address, bits, family);
    else context.addIssue({ code: 'custom', message: 'must be addresses and networks, separated by commas' });
  }
  return list;
});

/** What to listen on: `127.0.0.1:8080`, `[::]:8080`, `localhost:0`. */
export const address = z.string().transform((value, context) => {
  const [, bracketed, plain, port = ''] = /^(?:\[([\da-f.:]+)\]|([^\s:[\]]+)):(\d{1,5})$/i.exec(value) ?? [];
  const host = bracketed ?? plain ?? '';
  if (host === '' || Number(port) > 65_535) {
    context.addIssue('must be a host and a port from 0 to 65535, such as 127.0.0.1:8080 or [::1]:8080');
  }
  return { host, port: Number(port) };
});
