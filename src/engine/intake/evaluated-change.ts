/** A change with the searches that the property satisfied before and after it. */

import type { AdvertEvent } from '../domain/advert.ts';
import type { StoredProperty } from '../domain/change.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';

export interface EvaluatedChange {
  readonly propertyUuid: Uuid;
  readonly stored: StoredProperty;
  /** Before the change; null when it was unknown. */
  readonly former: StoredProperty | null;
  readonly events: readonly AdvertEvent[];
  readonly before: readonly SearchNumber[];
  readonly after: readonly SearchNumber[];
  /** The facts that were matched before and after the change; null without a live advert. */
  readonly facts: { readonly before: PropertyFacts | null; readonly after: PropertyFacts | null };
  /** The trace that the change's message belongs to. */
  readonly traceparent: string | null;
}
