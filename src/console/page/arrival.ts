/**
 * What a browser does when a page is loaded, and a page that changes itself has to do alone: what is opened begins at its
 * top, what is come back to is where it was left, and who used the keyboard goes on in what is new.
 */

import { useEffect, useRef } from 'preact/hooks';
import type { Route } from './route.ts';

/** Returns what the element that scrolls is to be given. */
export function useArrival({ view, id }: Route) {
  const element = useRef<HTMLElement>(null);
  const leftAt = useRef(new Map<string, number>());
  const place = `${view}/${id ?? ''}`;
  const isFirst = useRef(true);
  useEffect(() => {
    const { current: main } = element;
    if (main === null) return;
    main.scrollTop = leftAt.current.get(place) ?? 0;
    // The link that was followed is gone with the list that it stood in; one that stays keeps the focus.
    if (!isFirst.current && document.activeElement === document.body) main.focus({ preventScroll: true });
    isFirst.current = false;
  }, [place]);
  const onScroll = (): void => void leftAt.current.set(place, element.current?.scrollTop ?? 0);
  return { ref: element, onScroll };
}
