/** The demonstration's client endpoint: verifies the signature of what it receives and says what it was. */

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
  /** Tells the signing token of a search, by its IRI, as a client would keep it. */
  remember(searchIri: string, token: string): void;
  close(): Promise<void>;
}

export interface DemoReceiverOptions {
  /** `path` is where it arrived, which says whether it is a match or an event. */
  readonly onDelivery: (path: string, delivery: ReceivedDelivery) => void;
  readonly onRefused: (reason: string) => void;
}

export async function startDemoReceiver(options: DemoReceiverOptions): Promise<DemoReceiver> {
  const tokens = new Map<string, string>();
  const server = createServer(async (request, response) => {
    try {
      options.onDelivery(request.url ?? '/', verify(await text(request), request, tokens));
      response.writeHead(200).end();
    } catch (error) {
      options.onRefused((error as Error).message);
      response.writeHead(400).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    remember: (searchIri, token) => tokens.set(searchIri, token),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Throws when the search is unknown or the signature does not verify. */
function verify(body: string, request: IncomingMessage, tokens: ReadonlyMap<string, string>): ReceivedDelivery {
  const { search } = (JSON.parse(body) as ReceivedDelivery).match;
  const token = tokens.get(search);
  if (token === undefined) throw new Error(`no token is known for ${search}`);
  return new Webhook(token).verify(body, request.headers as Record<string, string>) as ReceivedDelivery;
}
