/** The pins of map and list: for one search its present results, for all searches their matches. */

import { useMemo } from 'preact/hooks';
import { filtered, filters, shownKinds } from './filters.ts';
import { useModel } from './model-context.ts';
import { useValue } from './observable.ts';
import type { Pin } from './pins.ts';

export function useShownPins(): readonly Pin[] {
  const model = useModel();
  const version = useValue(model.pinsVersion);
  const chosen = useValue(filters);
  const days = useValue(model.days);
  const found = useValue(model.found);
  return useMemo(
    () => (found === null ? filtered(model.pins.list(), chosen, days) : shownKinds(found.pins, chosen)),
    [version, chosen, days, found],
  );
}
