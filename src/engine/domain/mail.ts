/**
 * E-mail settings of a search (decisions, section 12): address, consent, frequency and state. A recipient is a client and
 * an address, ignoring case: each client's recipients are independent. Its key is a salted hash (`mail_key_of`).
 */

import type { Uuid } from './ids.ts';

export const MAIL_FREQUENCIES = ['instant', 'daily', 'weekly'] as const;
export type MailFrequency = (typeof MAIL_FREQUENCIES)[number];

export const EMAIL_STATUSES = ['off', 'active', 'unavailable', 'refused', 'unsubscribed', 'consent-missing'] as const;
export type EmailStatus = (typeof EMAIL_STATUSES)[number];

export type MailLanguage = 'fr' | 'en';

/** Where the e-mails of a search go that has some. */
export interface MailRoute {
  readonly address: string;
  /** Identifies the recipient. */
  readonly key: string;
  readonly frequency: MailFrequency;
  readonly hasConsent: boolean;
}

/** What the recipient has agreed to, as the client states it. */
export interface MailConsent {
  readonly source: string;
  /** ISO 8601, with an offset. */
  readonly at: string;
}

/**
 * A decision about the e-mails of a client to a recipient, kept beside the data as well, so that it outlasts a restore. Of
 * one kind and scope the latest counts.
 */
export interface RecipientChoice {
  /** The salted hash of client and address. */
  readonly key: string;
  readonly clientId: Uuid;
  readonly kind: 'erasure' | 'unsubscription';
  /** All e-mails of the client. */
  readonly scope: 'sender';
  /** False: taken back, an erasure by later consent. */
  readonly value: boolean;
  /** In whole milliseconds, as files have times. Later than the one that it replaces. */
  readonly at: Date;
}

/** E-mails that are begun on one day in Paris. */
export const MAILBOX_MAILS_MAX = 20;
export const CLIENT_MAILS_MAX = 10_000;

/** The stored facts about the e-mail of a search. */
export interface MailStanding {
  /** Identifies the recipient; null without an address. */
  readonly key: string | null;
  readonly isRefused: boolean;
  readonly isUnsubscribed: boolean;
  /** The address was erased, and consent has not lifted that since. */
  readonly isErased: boolean;
}

export interface MailRules {
  /** There is a mail server. */
  readonly isMailAvailable: boolean;
  /** Nothing is sent without consent. */
  readonly isConsentRequired: boolean;
}

export function emailStatusOf(
  { key, isRefused, isUnsubscribed, isErased }: MailStanding,
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

export const MAIL_HOUR = 7;
const MONDAY = 1;
const PARIS = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/Paris',
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
});

/** `2026-03-10`: the day that it is in Paris. */
export function parisDayOf(at: Date): string {
  const { year, month, day } = parisPartsOf(at);
  return `${year}-${month}-${day}`;
}

/** The first seven o'clock in Paris after `now`: of any day, or of a Monday. */
export function nextMorning(frequency: 'daily' | 'weekly', now: Date): Date {
  const { year, month, day } = parisPartsOf(now);
  for (let ahead = 0; ; ahead++) {
    // A date without a zone, counted in UTC.
    const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day) + ahead));
    if (frequency === 'weekly' && date.getUTCDay() !== MONDAY) continue;
    const morning = morningOf(date);
    if (morning > now) return morning;
  }
}

/** Paris is one hour ahead of UTC, or two; seven o'clock is never left out and never comes twice. */
function morningOf(date: Date): Date {
  const summer = new Date(date.getTime());
  summer.setUTCHours(MAIL_HOUR - 2);
  if (Number(parisPartsOf(summer).hour) === MAIL_HOUR) return summer;
  const winter = new Date(date.getTime());
  winter.setUTCHours(MAIL_HOUR - 1);
  return winter;
}

function parisPartsOf(at: Date): Record<'year' | 'month' | 'day' | 'hour', string> {
  return Object.fromEntries(PARIS.formatToParts(at).map(({ type, value }) => [type, value])) as ReturnType<
    typeof parisPartsOf
  >;
}
