/** The endpoints of the courier bench, in a process of their own: `/hang/…` never answers, everything else says 200. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Receipt {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const REPORT_EVERY_MS = 50;
let receipts: Receipt[] = [];

const server = createServer((request, response) => {
  const id = String(request.headers['webhook-id']);
  const at = performance.timeOrigin + performance.now();
  request.resume().on('end', () => {
    receipts.push({ id, at });
    if (!request.url?.startsWith('/hang/')) response.end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
setInterval(() => {
  if (receipts.length > 0) process.send?.({ receipts });
  receipts = [];
}, REPORT_EVERY_MS);
process.on('disconnect', () => process.exit());
