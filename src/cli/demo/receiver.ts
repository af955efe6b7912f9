/** The demonstration's client endpoint: verifies the signature of each webhook and reports its content. */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

export interface ReceivedDelivery {
  readonly event: string;
  readonly adEvent?: {
    readonly fieldName: string;
    readonly fieldOldValue: string | null;
    readonly fieldNewValue: string | null;
    readonly percentVariation: string | null;
  };
  readonly match: {
    readonly search: string;
    readonly propertyDocument: {
      readonly title: string | null;
      readonly price: number | null;
      readonly city: { readonly name: string } | null;
    };
  };
}

export interface DemoReceiver {
  readonly url: string;
  /** Sets the secrets of its webhooks, as a client would store them. */
  remember(secret: string): void;
  close(): Promise<void>;
}

export interface DemoReceiverOptions {
  /** `path` is its address, which distinguishes matches from events. */
  readonly onDelivery: (path: string, delivery: ReceivedDelivery) => void;
  readonly onRefused: (reason: string) => void;
}

export async function startDemoReceiver(options: DemoReceiverOptions): Promise<DemoReceiver> {
  let webhook: Webhook | null = null;
  const server = createServer(async (request, response) => {
    try {
      options.onDelivery(request.url ?? '/', verify(webhook, await text(request), request));
      response.writeHead(200).end('signature verified');
    } catch (error) {
      options.onRefused((error as Error).message);
      response.writeHead(400).end((error as Error).message);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    remember(secret) {
      webhook = new Webhook(secret);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Throws when the signature does not verify. */
function verify(webhook: Webhook | null, body: string, request: IncomingMessage): ReceivedDelivery {
  if (webhook === null) throw new Error('no secret is known yet');
  return webhook.verify(body, request.headers as Record<string, string>) as ReceivedDelivery;
}
