/** A minimal client of the REST API for tests. */

import type { Daemon } from './daemon.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

export interface RestAnswer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface RestClient {
  request<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<RestAnswer<T>>;
  /** Creates a search; rejects with the response if it is refused. */
  createSearch(members: Readonly<Record<string, unknown>>): Promise<CreatedSearch>;
}

export interface CreatedSearch {
  readonly id: string;
  readonly iri: string;
  readonly token: string;
}

/** Members of a search that is notified of every match and price change. */
export function everythingTo({ urlOf }: Pick<WebhookReceiver, 'urlOf'>) {
  return {
    title: 'all of Toulon',
    notificationEnabled: true,
    withCoherentPrice: null,
    endpointRecipient: urlOf('/matches'),
    eventEndpoint: urlOf('/events'),
    subscribedEvents: ['ad.update.price'],
  } as const;
}

export function restClient(daemon: Pick<Daemon, 'apiUrl'>, key: string): RestClient {
  async function request<T>(method: string, path: string, body?: unknown): Promise<RestAnswer<T>> {
    const response = await fetch(`${daemon.apiUrl}${path}`, {
      method,
      headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? null : JSON.parse(text)) as T,
    };
  }
  return {
    request,
    async createSearch(members) {
      const { status, body } = await request<{ '@id': string; token: string }>('POST', '/searches', members);
      if (status !== 201) throw new Error(`search refused with ${status}: ${JSON.stringify(body)}`);
      const iri = body['@id'];
      return { id: iri.slice('/searches/'.length), iri, token: body.token };
    },
  };
}
