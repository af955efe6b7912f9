/** The open view, stored in the fragment, so that links, the back button and bookmarks work. */

import { decoded } from './fragment.ts';
import { observable } from './observable.ts';

export const VIEWS = ['map', 'searches', 'deliveries', 'why', 'recipients', 'endpoints'] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** The open item; null for none. */
  readonly id: string | null;
  /** The chosen filters. */
  readonly query: Readonly<Record<string, string>>;
}

function readRoute(): Route {
  const [, view = '', id = '', query = ''] = /^#\/(\w+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(location.hash) ?? [];
  const known = VIEWS.find((one) => one === view) ?? 'map';
  return { view: known, id: id === '' ? null : decoded(id), query: Object.fromEntries(new URLSearchParams(query)) };
}

export const route = observable<Route>(readRoute());

window.addEventListener('hashchange', () => route.set(readRoute()));

export function hrefOf(view: View, id: string | null = null, query: Route['query'] = {}): string {
  const path = id === null ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
  const chosen = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  return chosen.size === 0 ? path : `${path}?${chosen.toString()}`;
}

export function open(view: View, id: string | null = null, query: Route['query'] = {}): void {
  location.hash = hrefOf(view, id, query);
}
