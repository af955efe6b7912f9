/** Which view is open, as the fragment says it: links, the back button and bookmarks work as everywhere. */

import { decoded } from './fragment.ts';
import { observable } from './observable.ts';

export const VIEWS = ['map', 'searches', 'deliveries', 'why', 'places', 'endpoints'] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** What is open in it; null: nothing yet. */
  readonly id: string | null;
}

function readRoute(): Route {
  const [, view = '', id = ''] = /^#\/(\w+)(?:\/(.*))?$/.exec(location.hash) ?? [];
  const known = VIEWS.find((one) => one === view) ?? 'map';
  return { view: known, id: id === '' ? null : decoded(id) };
}

export const route = observable<Route>(readRoute());

window.addEventListener('hashchange', () => route.set(readRoute()));

export function hrefOf(view: View, id: string | null = null): string {
  return id === null ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
}

export function open(view: View, id: string | null = null): void {
  location.hash = hrefOf(view, id);
}
