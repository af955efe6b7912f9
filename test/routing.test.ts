/**
 * Which searches are notified of a change, and with which body (specification, sections 1, 6.1 and 6.2; decisions,
 * section 4).
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AdvertEvent, FieldChange } from '../src/engine/domain/advert.ts';
import { EVENT_KINDS, type EventKind } from '../src/engine/domain/codes.ts';
import { uuidOf } from '../src/engine/domain/ids.ts';
import { bodyHead, bodyOf, type Notification, notificationsOf } from '../src/engine/domain/routing.ts';
import { ADVERT, minute, PROPERTY, ROUTE } from './support/adverts.ts';

const PRICE: FieldChange = {
  fieldName: 'price',
  fieldOldValue: '250000',
  fieldNewValue: '240000',
  percentVariation: -4,
};

function eventOf(kind: EventKind, field: FieldChange | null = null): AdvertEvent {
  return { kind, advertUuid: ADVERT, createdAt: minute(5), field };
}

const CHEAPER = [eventOf('ad.update.price', PRICE), eventOf('property.ad.update')];

const MATCH = { id: uuidOf('3a7c4000-0000-4000-8000-000000000001'), createdAt: minute(1), updatedAt: minute(5) };

function bodyOfNotice(notice: Pick<Notification, 'kind' | 'field'>, match = MATCH, document: unknown = {}): unknown {
  return JSON.parse(bodyOf(bodyHead(notice, ROUTE.id, PROPERTY, match), JSON.stringify(document)));
}

test('the body of a price change is that of the specification, member by member', () => {
  const [, notice] = notificationsOf(ROUTE, CHEAPER, true);
  assert.deepEqual(bodyOfNotice(notice as Notification, MATCH, { uuid: PROPERTY }), {
    event: 'ad.update.price',
    adEvent: {
      fieldName: 'price',
      fieldOldValue: '250000',
      fieldNewValue: '240000',
      percentVariation: '-4.00',
      createdAt: minute(5),
    },
    match: {
      '@context': '/contexts/Match',
      '@id': `/matches/${MATCH.id}`,
      '@type': 'Match',
      property: `/documents/properties/${PROPERTY}`,
      search: `/searches/${ROUTE.id}`,
      createdAt: minute(1),
      updatedAt: minute(5),
      propertyDocument: { uuid: PROPERTY },
    },
  });
});

test('head and document form valid JSON, for any content', () => {
  const field = fc.record({
    fieldName: fc.string({ unit: 'binary' }),
    fieldOldValue: fc.option(fc.constantFrom('}}', '"}}', '\\', '\u2028')),
    fieldNewValue: fc.option(fc.string()),
    percentVariation: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    createdAt: fc.constant(minute(0)),
  });
  fc.assert(
    fc.property(fc.constantFrom(...EVENT_KINDS), fc.option(field), fc.jsonValue(), (kind, notice, document) => {
      const body = bodyOfNotice({ kind, field: notice }, MATCH, document) as { match: { propertyDocument: unknown } };
      assert.deepEqual(body.match.propertyDocument, JSON.parse(JSON.stringify(document)));
    }),
  );
});
