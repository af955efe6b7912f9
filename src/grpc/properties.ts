/** The property that a request names: by itself, by one of its adverts, or by the address of one on its portal. */

import type { HeldProperty } from '../engine/domain/change.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import type { Queryable } from '../engine/store/database.ts';
import { findHeld, type WantedProperty } from '../engine/store/property-summaries.ts';
import { invalidArgument, notFound } from './errors.ts';
import { optionalUuidOfName } from './names.ts';

export interface NamedProperty {
  readonly property: string;
  readonly advert: string;
  readonly advertUrl: string;
}

/** Throws NOT_FOUND when it is not held, INVALID_ARGUMENT. */
export async function heldPropertyOf(named: NamedProperty, database: Queryable): Promise<HeldProperty> {
  const wanted = wantedOf(named);
  if (wanted === null) throw invalidArgument('property', 'or advert, or advert_url, must be set');
  const held = await findHeld(database, wanted);
  if (held !== null) return held;
  const name = named.property || named.advert || named.advertUrl;
  throw notFound('Property', name, `there is no ${name}: it was never taken in, or is forgotten since it expired`);
}

/** Null when none is named. A property that is named by itself need not be held any more. */
export async function optionalPropertyUuid(named: NamedProperty, database: Queryable): Promise<Uuid | null> {
  const wanted = wantedOf(named);
  if (wanted === null) return null;
  return wanted.property ?? (await heldPropertyOf(named, database)).state.uuid;
}

function wantedOf({ property, advert, advertUrl }: NamedProperty): WantedProperty | null {
  const given = [property, advert, advertUrl].filter((each) => each !== '');
  if (given.length === 0) return null;
  if (given.length > 1) throw invalidArgument('property', 'must not be set beside advert or advert_url: one is enough');
  return {
    property: optionalUuidOfName('property', 'properties', property),
    advert: optionalUuidOfName('advert', 'adverts', advert),
    url: advertUrl === '' ? null : advertUrl,
  };
}
