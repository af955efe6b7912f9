/**
 * A recipient of e-mails about one property, in memory. `publish` records messages, and `mail` returns the next e-mail.
 */

import assert from 'node:assert/strict';
import { EVENT_KINDS } from '../../src/engine/domain/codes.ts';
import { searchNumberOf, timeOrderedUuid, uuidOf } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import type { MailLanguage } from '../../src/engine/domain/mail.ts';
import { NO_MARKETS } from '../../src/engine/domain/market-prices.ts';
import { SEARCH_DEFAULTS, type SearchMembers } from '../../src/engine/domain/search.ts';
import {
  type MailEntry,
  type MailItem,
  type MailSearch,
  mailEntry,
  type Notified,
} from '../../src/features/mail/mail-contents.ts';
import { mailReasonsOf } from '../../src/features/mail/mail-items.ts';
import { type MailContents, type MailText, mailText } from '../../src/features/mail/mail-text.ts';
import { namedSearch } from '../../src/features/mail/search-words.ts';
import { changesOf, type MessageParts, OTHER_ADVERT, resolveToulon, TOULON, upsertAt } from './adverts.ts';

export const LINK = 'https://vigie.example/unsubscribe/AAAAAAAAAAAAAAAAAAAAAA';
export const FOOT = { unsubscribeUrl: LINK, sender: 'Agence du Port' };
const ROUTE = { address: 'jo@example.org', key: 'key', frequency: 'instant', hasConsent: false } as const;

export const CITY_NAMES = { city: () => 'Toulon', department: () => 'Var' };

/** Contents of an e-mail that shows all entries. */
export function contentsOf(entries: readonly MailEntry[], searches: readonly MailSearch[] = []): MailContents {
  return { entries, searches, canReply: false, more: new Map() };
}

/** Replaces the special spaces in French numbers by plain ones. */
export const spaced = (text: string): string => text.replace(/[\u00a0\u202f]/g, ' ');

const IN_TOULON = { insee: TOULON.insee, zipcode: '83000', name: null };

/** One of two adverts of a flat; `of` is its agency. */
export function flat(
  minute: number,
  price: number | null,
  of: 'A' | 'B' = 'A',
  { advert, property }: MessageParts = {},
) {
  return upsertAt(minute, {
    ...(of === 'B' ? { advertUuid: OTHER_ADVERT } : {}),
    property: { transactionType: 0, propertyType: 0, room: 3, bedroom: 2, city: IN_TOULON, ...property },
    advert: {
      title: 'T3 vue mer',
      price,
      surface: 62,
      energy: { category: 'C', value: null },
      publisher: { name: `Agence ${of}`, category: 'portail', type: 1 },
      url: `https://portal.example/annonce/${of}?a=1&b=2`,
      pictures: ['https://portal.example/1.jpg'],
      ...advert,
    },
  });
}
/** `isMatched`: the searches matched the property before they began to send e-mails. */
export function startReader(
  asked: readonly Partial<SearchMembers>[] = [{}],
  { isMatched = false, markets = NO_MARKETS } = {},
) {
  const searches = new Map(
    asked.map((members, at) => [
      searchNumberOf(at + 1),
      { ...SEARCH_DEFAULTS, title: 'private', publicTitle: 'Toulon', subscribedEvents: EVENT_KINDS, ...members },
    ]),
  );
  const begun = new Set(isMatched ? searches.keys() : []);
  let stored: NonNullable<ReturnType<typeof changesOf>[number]['stored']> | null = null;
  let notified: Notified | null = null;
  let items: MailItem[] = [];
  let seconds = 0;

  const named = (language: MailLanguage) =>
    new Map([...searches].map(([number, members]) => [number, namedSearch(members, CITY_NAMES, language)]));
  const entry = (language: MailLanguage = 'fr'): MailEntry | null => {
    if (stored === null) throw new Error('nothing was published');
    return mailEntry(items, {
      stored,
      resolvePlace: resolveToulon,
      notified,
      isAnnounced: notified !== null,
      searches,
      names: named(language),
      markets,
      siteCategoryName: () => null,
      language,
    });
  };
  return {
    /** Notifies the searches with these numbers (from 1); without numbers, all searches. */
    publish(message: IntakeMessage, ...numbers: number[]): void {
      const [change] = changesOf([message], stored);
      if (change === undefined || change.stored === null) return;
      stored = change.stored;
      for (const [number, { subscribedEvents }] of searches) {
        if (numbers.length > 0 && !numbers.includes(number)) continue;
        const reasons = mailReasonsOf({ mail: ROUTE, subscribedEvents }, change.events, !begun.has(number));
        begun.add(number);
        for (const reason of reasons) {
          const id = timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, 0, seconds++)));
          const propertyUuid = uuidOf(message.propertyUuid);
          items.push({ id, propertyUuid, searchNumber: number, reason: JSON.parse(JSON.stringify(reason)) });
        }
      }
    },
    /** Notifies the first search that its match has ended or resumed. */
    follow(kind: 'property.match.end' | 'property.match.resume', why?: MailItem['reason']['why']): void {
      const id = timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, 0, seconds++)));
      const propertyUuid = stored?.state.uuid ?? assert.fail();
      const reason = { type: 'event', kind, oldValue: null, newValue: null, why } as const;
      items.push({ id, propertyUuid, searchNumber: searchNumberOf(1), reason });
    },
    entry,
    /** The next e-mail; null if there is nothing to report. */
    mail(language: MailLanguage = 'fr'): MailText | null {
      const written = entry(language);
      const known = named(language);
      const names = new Set(items.map(({ searchNumber }) => known.get(searchNumber) ?? assert.fail()));
      items = [];
      if (written === null) return null;
      notified = written.notified;
      const { subject, text, html } = mailText(contentsOf([written], [...names]), FOOT, language);
      return { subject: spaced(subject), text: spaced(text), html };
    },
  };
}
