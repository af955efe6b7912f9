/** A change with the searches that the property satisfied before and after it. */

import type { AdvertEvent } from '../domain/advert.ts';
import type { HeldProperty } from '../domain/change.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';

export interface EvaluatedChange {
  readonly propertyUuid: Uuid;
  readonly held: HeldProperty;
  /** Before the change; null when it was unknown. */
  readonly former: HeldProperty | null;
  readonly events: readonly AdvertEvent[];
  readonly before: readonly SearchNumber[];
  readonly after: readonly SearchNumber[];
  /** The trace that the change's message belongs to. */
  readonly traceparent: string | null;
}
