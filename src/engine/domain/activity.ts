/** Activities that operators can watch: an advert changed, a match began, or an attempt of a delivery ended. */

import type { EventKind } from './codes.ts';
import type { AttemptOutcome, DeliveryState } from './delivery.ts';
import type { SearchNumber, Uuid } from './ids.ts';

export type Activity = ChangeActivity | MatchActivity | AttemptActivity;

export interface ChangeActivity {
  readonly type: 'change';
  /** ISO 8601, like all times in this file. */
  readonly at: string;
  readonly propertyUuid: Uuid;
  readonly advertUuid: Uuid;
  readonly kind: EventKind;
  readonly field: string | null;
  readonly oldValue: string | null;
  readonly newValue: string | null;
}

export interface MatchActivity {
  readonly type: 'match';
  readonly at: string;
  readonly matchId: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
}

export interface AttemptActivity extends Pick<AttemptOutcome, 'statusCode' | 'error' | 'durationMs'> {
  readonly type: 'attempt';
  readonly at: string;
  readonly deliveryId: Uuid;
  readonly searchNumber: SearchNumber;
  readonly endpointKey: string;
  readonly number: number;
  readonly state: DeliveryState;
}
