/**
 * The endpoints of the courier bench, in their own process. `/hang/…` never answers, and `/down/…` answers 503.
 * `/flaky/…` answers 503 and 200 in turn to the attempts of a delivery. `/dead/silent/…` is like `/hang/…`, and
 * `/dead/failing/…` like `/down/…`, until they are revived. All other paths answer 200.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Receipt {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Null: no answer. */
  readonly status: number | null;
}

const REPORT_EVERY_MS = 50;
let receipts: Receipt[] = [];
const hasFailed = new Set<string>();
let isRevived = false;

const server = createServer((request, response) => {
  const id = String(request.headers['webhook-id']);
  const at = performance.timeOrigin + performance.now();
  request.resume().on('end', () => {
    const status = statusOf(request.url ?? '', id);
    receipts.push({ id, at, status });
    if (status !== null) response.writeHead(status).end();
  });
});

function statusOf(path: string, id: string): number | null {
  if (path.startsWith('/hang/') || (path.startsWith('/dead/silent/') && !isRevived)) return null;
  if (path.startsWith('/down/') || (path.startsWith('/dead/failing/') && !isRevived)) return 503;
  if (!path.startsWith('/flaky/') || hasFailed.delete(id)) return 200;
  hasFailed.add(id);
  return 503;
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
setInterval(() => {
  if (receipts.length > 0) process.send?.({ receipts });
  receipts = [];
}, REPORT_EVERY_MS);
process.on('message', () => {
  isRevived = true;
});
process.on('disconnect', () => process.exit());
