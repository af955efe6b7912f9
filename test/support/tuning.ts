/** What tests change of a daemon that its operators cannot: values of its configuration that no setting has. */

import type { Config } from '../../src/config.ts';

/** The variable of the environment that carries it. */
export const TUNING = 'TUNING';

export interface Tuning {
  readonly recordBounds?: Config['recordBounds'];
  readonly attemptsInFlightMax?: number;
  readonly recordBatchMax?: number;
  readonly retryPausesMs?: readonly number[];
  readonly breaker?: { readonly propertiesMax: number; readonly windowMs: number; readonly restMs: number };
}
