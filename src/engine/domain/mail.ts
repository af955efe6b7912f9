/**
 * E-mail settings of a search (decisions, section 12): address, consent, frequency and state. A recipient is a pair of
 * a client and an address (ignoring case), so that clients have separate recipients. The recipient's key is a salted
 * hash of the pair (`mail_key_of`).
 */

import type { Uuid } from './ids.ts';

export const MAIL_FREQUENCIES = ['instant', 'daily', 'weekly'] as const;
export type MailFrequency = (typeof MAIL_FREQUENCIES)[number];

export const EMAIL_STATUSES = ['off', 'active', 'unavailable', 'refused', 'unsubscribed', 'consent-missing'] as const;
export type EmailStatus = (typeof EMAIL_STATUSES)[number];

export type MailLanguage = 'fr' | 'en';

/** Destination of a search's e-mails. */
export interface MailRoute {
  readonly address: string;
  /** Identifies the recipient. */
  readonly key: string;
  readonly frequency: MailFrequency;
  readonly hasConsent: boolean;
}

/** The consent of the recipient, as the client states it. */
export interface MailConsent {
  readonly source: string;
  /** ISO 8601, with an offset. */
  readonly at: string;
}

/** The less frequent of the client's setting and the recipient's choice. */
export function slowerOf(frequency: MailFrequency, chosen: MailFrequency | null): MailFrequency {
  const slowness = Math.max(...[frequency, chosen ?? 'instant'].map((each) => MAIL_FREQUENCIES.indexOf(each)));
  return MAIL_FREQUENCIES[slowness] as MailFrequency;
}

/** One search of the client, by its id. */
export type SearchScope = `search:${Uuid}`;

export function searchScopeOf(id: Uuid): SearchScope {
  return `search:${id}`;
}

/**
 * A decision about a client's e-mails to a recipient. A file in the data directory also records it, so that it survives
 * a restore. For each kind and scope, the latest decision counts.
 */
export interface RecipientChoice {
  /** Salted hash of client and address. */
  readonly key: string;
  readonly clientId: Uuid;
  readonly kind: 'erasure' | 'unsubscription' | 'frequency';
  /** All e-mails of the client, or those of one search. */
  readonly scope: 'sender' | SearchScope;
  /** False if the decision was withdrawn. Later consent withdraws an erasure. */
  readonly value: boolean | MailFrequency;
  /** In whole milliseconds, as in the files. Always later than the decision that this one replaces. */
  readonly at: Date;
}

/** Maximum numbers of e-mails started per day, by the date in Paris: for one mailbox and for one client. */
export const MAILBOX_MAILS_MAX = 20;
export const CLIENT_MAILS_MAX = 10_000;

/** Stored facts that decide whether a search sends e-mail. */
export interface MailStanding {
  /** Identifies the recipient; null if there is no address. */
  readonly key: string | null;
  readonly isRefused: boolean;
  /** True if the recipient unsubscribed from all e-mails of the client or from those of this search. */
  readonly isUnsubscribed: boolean;
  /** The recipient's choice for all e-mails of the client; null if none. */
  readonly frequencyChosen: MailFrequency | null;
  /** True if the address was erased and no later consent has withdrawn the erasure. */
  readonly isErased: boolean;
}

export interface MailRules {
  /** Whether a mail server is configured. */
  readonly isMailAvailable: boolean;
  /** Whether consent is required for sending. */
  readonly isConsentRequired: boolean;
}

export function emailStatusOf(
  { key, isRefused, isUnsubscribed, isErased }: Omit<MailStanding, 'frequencyChosen'>,
  search: { readonly notificationEnabled: boolean; readonly notificationConsent: MailConsent | null },
  { isMailAvailable, isConsentRequired }: MailRules,
): EmailStatus {
  if (key === null) return 'off';
  if (!isMailAvailable) return 'unavailable';
  if (isUnsubscribed) return 'unsubscribed';
  if (isRefused) return 'refused';
  if (isErased || (isConsentRequired && search.notificationConsent === null)) return 'consent-missing';
  return search.notificationEnabled ? 'active' : 'off';
}

/** Swedish dates have the ISO 8601 format. */
const PARIS = new Intl.DateTimeFormat('sv', { timeZone: 'Europe/Paris' });

/** The date in Paris, such as `2026-03-10`. */
export function parisDayOf(at: Date): string {
  return PARIS.format(at);
}
