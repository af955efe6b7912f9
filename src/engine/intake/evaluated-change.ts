/** A change, with the searches that the property satisfied before and after the change. */

import type { AdvertEvent } from '../domain/advert.ts';
import type { StoredProperty } from '../domain/change.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';

export interface EvaluatedChange {
  readonly propertyUuid: Uuid;
  readonly stored: StoredProperty;
  /** The property before the change; null if it was unknown. */
  readonly former: StoredProperty | null;
  readonly events: readonly AdvertEvent[];
  readonly before: readonly SearchNumber[];
  readonly after: readonly SearchNumber[];
  /** The facts with which the index was searched; null if no advert was live. */
  readonly facts: { readonly before: PropertyFacts | null; readonly after: PropertyFacts | null };
  /** The trace that the message of the change belongs to. */
  readonly traceparent: string | null;
}
