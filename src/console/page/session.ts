/**
 * The API key, kept until the client signs out or closes the tab. It is typed, or given in the fragment (`#key=`). The
 * fragment never leaves the browser, and is removed before the first request. Also the page's settings and language.
 */

import { decoded } from './fragment.ts';

export interface PageSettings {
  readonly showsPictures: boolean;
  readonly tilesUrl: string | null;
  readonly tilesAttribution: string;
  readonly version: string;
  /** True if the service has a mail server. */
  readonly sendsMail: boolean;
  /** True if nothing is sent by e-mail without consent. */
  readonly requiresConsent: boolean;
  /** Names of the base map's files. */
  readonly outlines: string;
  readonly places: string;
}

const KEY = 'vigie.key';
const LANGUAGE = 'vigie.language';

export const PAGE: HTMLElement = document.querySelector<HTMLElement>('#console') ?? document.body;

export const SETTINGS = JSON.parse(PAGE.dataset.settings ?? '{}') as PageSettings;

/** The prefix of all paths of the service: a proxy may add one. */
export const BASE = new URL('.', location.href);

export function hasBroughtKey(): boolean {
  return location.hash.startsWith('#key=');
}

/**
 * Removes the key from the address. A link from another person may contain a different key, and the next change would
 * be made in that account, so `mayReplace` asks first.
 */
export function readKey(mayReplace: () => boolean): string | null {
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
