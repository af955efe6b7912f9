/**
 * The API key, for as long as the tab lives: typed, or brought in the fragment (`#key=`), which never leaves the browser
 * and is gone from the address before the first request. Beside it what the page is made with, and the chosen language.
 */

import { decoded } from './fragment.ts';

export interface PageSettings {
  readonly showsPictures: boolean;
  readonly tilesUrl: string | null;
  readonly tilesAttribution: string;
  readonly version: string;
  /** A map of streets, null without one: its files, and what it is drawn by. */
  readonly streets: {
    readonly file: string;
    readonly script: string;
    readonly schema: 'openmaptiles' | 'protomaps';
    readonly maxZoom: number;
    readonly bounds: readonly [west: number, south: number, east: number, north: number];
    readonly attribution: string;
  } | null;
  /** The service has a mail server. */
  readonly sendsMail: boolean;
  /** Names of the base map's files. */
  readonly outlines: string;
  readonly places: string;
}

const KEY = 'vigie.key';
const LANGUAGE = 'vigie.language';

export const PAGE: HTMLElement = document.querySelector<HTMLElement>('#console') ?? document.body;

export const SETTINGS = JSON.parse(PAGE.dataset.settings ?? '{}') as PageSettings;

/** What all paths of the service begin with: a proxy may have put it under one of its own. */
export const BASE = new URL('.', location.href);

export function hasBroughtKey(): boolean {
  return location.hash.startsWith('#key=');
}

/**
 * Takes the key out of the address. A link that somebody has sent may bring another key than the one in use, and what is
 * saved next would be theirs: `mayReplace` is asked then.
 */
export function takeKey(mayReplace: () => boolean): string | null {
  const [, brought = ''] = /^#key=([^&]+)/.exec(location.hash) ?? [];
  const present = sessionStorage.getItem(KEY);
  if (brought === '') return present;
  history.replaceState(null, '', location.pathname + location.search);
  const key = decoded(brought);
  if (present !== null && present !== key && !mayReplace()) return present;
  keepKey(key);
  return key;
}

export function keepKey(key: string): void {
  sessionStorage.setItem(KEY, key);
}

export function forgetKey(): void {
  sessionStorage.removeItem(KEY);
}

export function keptLanguage(): string {
  return sessionStorage.getItem(LANGUAGE) ?? navigator.language;
}

export function keepLanguage(language: string): void {
  sessionStorage.setItem(LANGUAGE, language);
}
