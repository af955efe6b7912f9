/**
 * A made-up flat in Toulon and one change of it, for the webhook tester. It takes the way of a real advert, through
 * the same decoding and the same diff, so that what is tested has the shape of what will come.
 */

import type { AdvertEvent } from '../engine/domain/advert.ts';
import { applyMessage, type HeldProperty } from '../engine/domain/change.ts';
import type { EventKind } from '../engine/domain/codes.ts';
import { decodeIntakeMessage, type IntakeMessage } from '../engine/domain/intake-message.ts';

const DAY_MS = 86_400_000;

const PROPERTY = {
  uuid: '00000000-0000-4000-8000-000000000001',
  transactionType: 0,
  propertyType: 0,
  room: 3,
  bedroom: 2,
  city: { insee: '83137' },
  locations: { lat: 43.1242, lon: 5.928 },
};

const ADVERT = {
  uuid: '00000000-0000-4000-8000-000000000002',
  title: 'Appartement T3 à Toulon',
  description: 'Appartement de test, envoyé par le testeur de webhooks de Vigie.',
  url: 'https://example.com/annonces/1',
  price: 250_000,
  surface: 65,
  pictures: ['https://example.com/photos/1.jpg'],
  publisher: { category: 'Agence', name: 'Agence Exemple', type: 1 },
  contact: { agency: 'Agence Exemple', phone: '+33 0 00 00 00 00', reference: 'TEST-1' },
};

const CHANGES: Readonly<Record<Exclude<EventKind, 'property.ad.create' | 'ad.update.expired'>, object>> = {
  'ad.update.price': { price: 240_000 },
  'ad.update.surface': { surface: 66 },
  'ad.update.pictures': { pictures: [...ADVERT.pictures, 'https://example.com/photos/2.jpg'] },
  'property.ad.update': { floor: 2 },
};

/** The state after the change, and the event of this kind. */
export function sampleChange(kind: EventKind, now: Date): { readonly held: HeldProperty; readonly event: AdvertEvent } {
  const before = kind === 'property.ad.create' ? null : apply(null, {}, new Date(now.getTime() - DAY_MS)).held;
  const { held, events } = apply(before, changeOf(kind), now);
  const event = events.find((one) => one.kind === kind);
  if (held === null || event === undefined) throw new Error(`the sample makes no ${kind}`);
  return { held, event };
}

function changeOf(kind: EventKind): object | null {
  if (kind === 'ad.update.expired') return null;
  return kind === 'property.ad.create' ? {} : CHANGES[kind];
}

/** A message of each kind, as a crawler would send it. */
export function sampleMessages(at: Date): Readonly<Record<IntakeMessage['kind'], Readonly<Record<string, unknown>>>> {
  const crawledAt = at.toISOString();
  return {
    upsert: { kind: 'upsert', crawledAt, property: PROPERTY, advert: ADVERT },
    expire: { kind: 'expire', crawledAt, property: { uuid: PROPERTY.uuid }, advert: { uuid: ADVERT.uuid } },
  };
}

/** Null: the advert expires. */
function apply(held: HeldProperty | null, change: object | null, crawledAt: Date) {
  const { upsert, expire } = sampleMessages(crawledAt);
  const message = change === null ? expire : { ...upsert, advert: { ...ADVERT, ...change } };
  const origin = { stream: 1, sequence: crawledAt.getTime() };
  return applyMessage(held, decodeIntakeMessage(Buffer.from(JSON.stringify(message))), origin);
}
