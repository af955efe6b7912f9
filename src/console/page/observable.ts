/** A value whose changes render components again. Components share their state through such values. */

import { useEffect, useState } from 'preact/hooks';

export interface Observable<Value> {
  get(): Value;
  set(value: Value): void;
  /** Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void;
}

export function observable<Value>(initial: Value): Observable<Value> {
  let present = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => present,
    set(value) {
      if (Object.is(value, present)) return;
      present = value;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Renders the component again when the value changes, even between rendering and effects. */
export function useValue<Value>(source: Observable<Value>): Value {
  const [drawn, draw] = useState(() => ({ value: source.get() }));
  useEffect(() => {
    const look = (): void =>
      draw((before) => (Object.is(before.value, source.get()) ? before : { value: source.get() }));
    look();
    return source.subscribe(look);
  }, [source]);
  return Object.is(drawn.value, source.get()) ? drawn.value : source.get();
}
