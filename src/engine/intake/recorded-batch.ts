/** The parts of a recorded batch that are handled after the commit. */

import type { PulledMessage } from '../broker/pull.ts';
import type { Uuid } from '../domain/ids.ts';
import type { IntakeViolation } from '../domain/intake-schema.ts';
import type { DeadLetter } from '../store/dead-letters.ts';

/** These members are stored with the dead letter; see `DeadLetter`. */
export type DeadLetteredMessage = PulledMessage &
  Pick<DeadLetter, 'reason' | 'failedKey'> & {
    readonly violations: readonly IntakeViolation[];
    readonly propertyUuid: Uuid | null;
  };

export interface RecordedBatch {
  readonly understood: readonly PulledMessage[];
  readonly deadLettered: readonly DeadLetteredMessage[];
}
