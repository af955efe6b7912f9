/** A DNS server on loopback that answers as the test decides, and never answers for names that hang. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Cleanup } from './servers.ts';

export interface DnsStub {
  /** `host:port`. */
  readonly address: string;
  /** Names for which an IPv4 address was requested, in order. */
  readonly asked: string[];
}

const ADDRESS_QUERY = 1;
const NO_SUCH_NAME = 3;
const HEAD_BYTES = 12;

/** `addressOf` returns an IPv4 address, `'hang'` for no answer, or null if the name does not exist. */
export async function startDnsStub(cleanup: Cleanup, addressOf: (name: string) => string | null): Promise<DnsStub> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address: sender }) => {
    const { name, end } = readName(query);
    const isAddress = query.readUInt16BE(end) === ADDRESS_QUERY;
    if (isAddress) asked.push(name);
    const address = addressOf(name);
    if (address === 'hang') return;
    const answers = isAddress && address !== null ? [recordOf(address)] : [];
    const head = Buffer.from(query.subarray(0, HEAD_BYTES));
    head.writeUInt16BE(0x8180 | (address === null ? NO_SUCH_NAME : 0), 2);
    head.writeUInt16BE(answers.length, 6);
    head.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([head, query.subarray(HEAD_BYTES, end + 4), ...answers]), port, sender);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  cleanup.after(async () => void socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

/** RFC 1035, section 4.1.2: labels, each preceded by its length. */
function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = HEAD_BYTES;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

/** An A record for the name in the question, with a TTL of one second (section 4.1.3). */
function recordOf(address: string): Buffer {
  return Buffer.from([0xc0, HEAD_BYTES, 0, ADDRESS_QUERY, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]);
}
