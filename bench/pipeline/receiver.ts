/** The clients' side: answers 200 to everything and remembers each delivery, its latency, and duplicates. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Receiver {
  readonly url: string;
  has(deliveryId: string): boolean;
  readonly duplicates: number;
  /** Milliseconds from the `crawledAt` of the document to the arrival, for deliveries since the previous call. */
  takeLatencies(): number[];
  close(): Promise<void>;
}

/** Deliveries to this path are not counted among the latencies. */
export const CROWD_PATH = '/crowd';

/** The document's `updatedAt` is the `crawledAt` of the change, which the load generator sets to the publish time. */
const CHANGED_AT = /"propertyDocument":\{.*?"updatedAt":"([^"]+)","lastCrawledAt"/;

export async function startReceiver(): Promise<Receiver> {
  const seen = new Set<string>();
  let duplicates = 0;
  let latencies: number[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const arrivedAt = Date.now();
    response.writeHead(200).end();
    const id = String(request.headers['webhook-id']);
    if (seen.has(id)) duplicates += 1;
    seen.add(id);
    if (request.url?.startsWith(CROWD_PATH)) return;
    const changedAt = CHANGED_AT.exec(body)?.[1];
    if (changedAt !== undefined) latencies.push(arrivedAt - Date.parse(changedAt));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    has: (deliveryId) => seen.has(deliveryId),
    get duplicates() {
      return duplicates;
    },
    takeLatencies() {
      const taken = latencies;
      latencies = [];
      return taken;
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
