/** Values of a daemon's configuration that tests can change but operators cannot, because they have no setting. */

import type { Config } from '../../src/config.ts';

/** Environment variable with these values. */
export const TUNING = 'TUNING';

export interface Tuning {
  readonly recordBounds?: Config['recordBounds'];
  readonly attemptsInFlightMax?: number;
  readonly recordBatchMax?: number;
  readonly retryPausesMs?: readonly number[];
  readonly breaker?: { readonly propertiesMax: number; readonly windowMs: number; readonly restMs: number };
}
