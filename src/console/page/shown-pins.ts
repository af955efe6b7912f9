/** The pins of the map and the list: the current results of one search, or the matches of all searches. */

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
  const { seenBefore } = useValue(model.searches);
  return useMemo(() => {
    const pins = found === null ? filtered(model.pins.list(), chosen, days) : shownKinds(found.pins, chosen);
    const isNew = ({ search, matchedAtMs }: Pin) => (matchedAtMs ?? 0) > (seenBefore.get(search) ?? Infinity);
    return pins.map((pin) => (isNew(pin) ? { ...pin, isNew: true } : pin));
  }, [version, chosen, days, found, seenBefore]);
}
