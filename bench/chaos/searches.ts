/**
 * Searches of the chaos run. They are few, because the oracle checks each for every message, but use every kind of
 * endpoint.
 */

import type { OracleSearch } from '../../test/support/replay-oracle.ts';
import type { Behaviour, WebhookReceiver } from '../../test/support/webhook-receiver.ts';
import type { Random } from '../adverts/seeded-random.ts';

type Members = OracleSearch['members'];

/** After this many random answers `/flaky` and `/poor` always succeed. */
const SCRIPTED_ANSWERS = 5_000;
const FAILURES: readonly (readonly [Behaviour, number])[] = [
  [{ type: 'answer', status: 500 }, 6],
  [{ type: 'answer', status: 204 }, 1],
  [{ type: 'reset' }, 1],
  [{ type: 'hang' }, 1],
];

/** Scripts the receiver and returns the searches, with titles. `urlOf`: a path as a URL that daemons can reach. */
export function chaosSearches(
  random: Random,
  receiver: WebhookReceiver,
  urlOf: (path: string) => string,
): readonly (Members & { readonly title: string })[] {
  receiver.script('/flaky', ...failing(random, 0.2));
  receiver.script('/poor', ...failing(random, 0.6));
  // The first answer succeeds, because an endpoint that has never answered would get only two attempts a second, and
  // the run would take too long.
  receiver.script('/broken', { type: 'answer', status: 200 }, { type: 'answer', status: 500 });
  const all = ['ad.update.price', 'ad.update.surface', 'ad.update.pictures', 'ad.update.expired'] as const;
  const events = ['property.ad.create', 'property.ad.update', ...all] as const;
  const silent = { endpointRecipient: null, eventEndpoint: null, subscribedEvents: [] } as const;
  const members: readonly Partial<Members>[] = [
    { endpointRecipient: urlOf('/all') },
    { transactionType: 0, budgetMax: 400_000, endpointRecipient: urlOf('/flaky'), eventEndpoint: urlOf('/events') },
    { transactionType: 1, eventEndpoint: urlOf('/flaky'), subscribedEvents: events },
    { budgetMax: 250_000, roomMin: 2, eventEndpoint: urlOf('/events'), subscribedEvents: ['ad.update.price'] },
    { propertyTypes: [1], surfaceMin: 90, eventEndpoint: urlOf('/poor'), hidePropertyContact: true },
    { lat: '48.85', lon: '2.35', radius: '60', endpointRecipient: urlOf('/poor'), eventEndpoint: urlOf('/paris') },
    { propertyTypes: [5], endpointRecipient: urlOf('/broken'), eventEndpoint: urlOf('/broken') },
  ];
  return members.map((own, position) => ({
    ...silent,
    title: `chaos ${position}`,
    notificationEnabled: true,
    withCoherentPrice: null,
    ...(own.eventEndpoint === undefined ? {} : { subscribedEvents: all }),
    ...own,
  }));
}

function failing(random: Random, share: number): [Behaviour, ...Behaviour[]] {
  const fine: Behaviour = { type: 'answer', status: 200 };
  const scripted = Array.from({ length: SCRIPTED_ANSWERS }, () =>
    random.chance(share) ? random.weighted(FAILURES) : fine,
  );
  return [fine, ...scripted, fine];
}
