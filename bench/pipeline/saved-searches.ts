/** Inserts saved searches of the matching benchmark's mix, some of them notifying. */

import { randomBytes, randomUUID } from 'node:crypto';
import type { Criteria } from '../../src/engine/domain/criteria.ts';
import { formatExpressions } from '../../src/engine/domain/expressions.ts';
import { featuresIn } from '../../src/engine/domain/features.ts';
import { createClient } from '../../src/engine/store/clients.ts';
import type { Database } from '../../src/engine/store/database.ts';
import { searchOf } from '../matching/population.ts';
import { withRichAsked } from '../matching/rich.ts';
import { loadTowns } from '../matching/towns.ts';

export interface SavedSearchOptions {
  readonly count: number;
  readonly seed: number;
  /** Share of the searches that have notifications on. */
  readonly notifyingShare: number;
  readonly endpoints: readonly string[];
  /** Share of the searches with the criteria of `matching/rich`; default 0. */
  readonly richShare?: number;
}

const ROWS_PER_INSERT = 5_000;
const MIX = { nowhereShare: 0.003 };

export async function insertSavedSearches(database: Database, options: SavedSearchOptions): Promise<void> {
  const { count, seed, notifyingShare, endpoints, richShare = 0 } = options;
  const towns = await loadTowns(seed);
  const client = await createClient(database, { name: 'benchmark' });
  for (let start = 0; start < count; start += ROWS_PER_INSERT) {
    const rows = Array.from({ length: Math.min(ROWS_PER_INSERT, count - start) }, (_, offset) => {
      const position = start + offset;
      // Evenly spread, so that the share is exact and the same searches notify for every count.
      const isNotifying = Math.floor((position + 1) * notifyingShare) > Math.floor(position * notifyingShare);
      const criteria = withRichAsked(searchOf(towns, seed, position, MIX), towns, seed, position, richShare);
      const endpoint = endpoints[position % endpoints.length] as string;
      return {
        id: randomUUID(),
        client_id: client.id,
        title: `search ${position}`,
        members: { title: `search ${position}`, ...membersOf(criteria) },
        notification_enabled: isNotifying,
        endpoint_recipient: `${endpoint}/matches`,
        event_endpoint: `${endpoint}/events`,
        token: `whsec_${randomBytes(32).toString('base64')}`,
      };
    });
    await database.query(
      `insert into searches (id, client_id, title, title_folded, members, notification_enabled, endpoint_recipient,
         event_endpoint, subscribed_events, hide_property_contact, token)
       select id, client_id, title, title, members, notification_enabled, endpoint_recipient, event_endpoint,
         '{ad.update.price,ad.update.expired}', false, token
       from json_to_recordset($1) as made(id uuid, client_id uuid, title text, members json,
         notification_enabled boolean, endpoint_recipient text, event_endpoint text, token text)`,
      [JSON.stringify(rows)],
    );
  }
  await database.query('analyze searches');
}

/** Inserts searches of one client without criteria and notifications. Each matches all adverts with coherent prices. */
export async function insertSilentSearches(database: Database, count: number): Promise<void> {
  const { id } = await createClient(database, { name: 'silent' });
  await database.query(
    `insert into searches (id, client_id, title, title_folded, members, notification_enabled, subscribed_events,
       hide_property_contact, token)
     select gen_random_uuid(), $1, 'silent', 'silent', '{"title":"silent"}', false, '{}', false, 'whsec_'
     from generate_series(1, $2::integer)`,
    [id, count],
  );
}

/** Only the members that differ from the defaults, as the API stores them. */
function membersOf(criteria: Criteria): object {
  const { areas, excludedAreas, marketDifference, includedFeatures } = criteria;
  const { circle } = areas;
  const stored: Record<string, unknown> = {
    transactionType: criteria.transactionType,
    propertyTypes: criteria.propertyTypes,
    publisherTypes: criteria.publisherTypes,
    budgetMin: criteria.budget.min,
    budgetMax: criteria.budget.max,
    pricePerMeterMax: criteria.pricePerMeter.max,
    surfaceMin: criteria.surface.min,
    surfaceMax: criteria.surface.max,
    landSurfaceMin: criteria.landSurface.min,
    roomMin: criteria.room.min,
    bedroomMin: criteria.bedroom.min,
    marketDifferenceMin: marketDifference.min,
    marketDifferenceMax: marketDifference.max,
    includedFeatures: featuresIn(includedFeatures),
    includedPublishers: criteria.includedPublishers,
    excludedPublishers: criteria.excludedPublishers,
    expressions: formatExpressions(criteria.expressions),
    lat: circle && String(circle.lat),
    lon: circle && String(circle.lon),
    radius: circle && String(circle.radiusKm),
    includedCities: areas.inseeCodes,
    includedDepartments: areas.departmentCodes,
    geoShapes: areas.polygons,
    excludedInseeCodes: excludedAreas.inseeCodes,
    excludedDepartments: excludedAreas.departmentCodes,
    excludedZipcodes: excludedAreas.zipcodes,
    excludedGeoShapes: excludedAreas.polygons,
    pointsOfInterest: criteria.pointsOfInterest,
    alternatives: criteria.alternatives.map(membersOf),
  };
  const isUnset = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);
  const differing = Object.entries(stored).filter(([, value]) => !isUnset(value));
  return { ...Object.fromEntries(differing), ...(criteria.withCoherentPrice ? {} : { withCoherentPrice: null }) };
}
