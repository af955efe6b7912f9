/** A recipient of e-mails about one property, in memory: what is published is recorded, and `mail` is the next e-mail. */

import assert from 'node:assert/strict';
import { EVENT_KINDS } from '../../src/engine/domain/codes.ts';
import { searchNumberOf, timeOrderedUuid, uuidOf } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import type { MailLanguage } from '../../src/engine/domain/mail.ts';
import { SEARCH_DEFAULTS, type SearchMembers } from '../../src/engine/domain/search.ts';
import { type MailEntry, type MailItem, mailEntry, type Notified } from '../../src/features/mail/mail-contents.ts';
import { mailReasonsOf } from '../../src/features/mail/mail-items.ts';
import { type MailText, mailText } from '../../src/features/mail/mail-text.ts';
import { changesOf, resolveToulon } from './adverts.ts';

export const LINK = 'https://vigie.example/unsubscribe/AAAAAAAAAAAAAAAAAAAAAA';
export const FOOT = { unsubscribeUrl: LINK, sender: 'Agence du Port' };
const ROUTE = { address: 'jo@example.org', key: 'key', frequency: 'instant', hasConsent: false } as const;

/** Spaces of French numbers as plain ones. */
export const spaced = (text: string): string => text.replace(/[\u00a0\u202f]/g, ' ');

/** `isMatched`: the searches matched the property before there were e-mails. */
export function startReader(asked: readonly Partial<SearchMembers>[] = [{}], { isMatched = false } = {}) {
  const searches = new Map(
    asked.map((members, at) => [
      searchNumberOf(at + 1),
      { ...SEARCH_DEFAULTS, title: 'Toulon', subscribedEvents: EVENT_KINDS, ...members },
    ]),
  );
  const begun = new Set(isMatched ? searches.keys() : []);
  let held: NonNullable<ReturnType<typeof changesOf>[number]['held']> | null = null;
  let notified: Notified | null = null;
  let items: MailItem[] = [];
  let seconds = 0;

  const entry = (language: MailLanguage = 'fr'): MailEntry | null => {
    if (held === null) throw new Error('nothing was published');
    return mailEntry(items, {
      held,
      resolvePlace: resolveToulon,
      notified,
      isAnnounced: notified !== null,
      searches,
      language,
    });
  };
  return {
    /** To the searches of these numbers, from 1; all without any. */
    publish(message: IntakeMessage, ...numbers: number[]): void {
      const [change] = changesOf([message], held);
      if (change === undefined || change.held === null) return;
      held = change.held;
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
    /** The first search is notified of an end or a return of its match. */
    follow(kind: 'property.match.end' | 'property.match.resume', why?: MailItem['reason']['why']): void {
      const id = timeOrderedUuid(new Date(Date.UTC(2026, 2, 10, 8, 0, seconds++)));
      const propertyUuid = held?.state.uuid ?? assert.fail();
      const reason = { type: 'event', kind, oldValue: null, newValue: null, why } as const;
      items.push({ id, propertyUuid, searchNumber: searchNumberOf(1), reason });
    },
    entry,
    /** Null when nothing remains to be said. */
    mail(language: MailLanguage = 'fr'): MailText | null {
      const written = entry(language);
      const searchTitles = new Set(items.map(({ searchNumber }) => searches.get(searchNumber)?.title ?? ''));
      items = [];
      if (written === null) return null;
      notified = written.notified;
      const { subject, text, html } = mailText({ entries: [written], moreCount: 0, searchTitles }, FOOT, language);
      return { subject: spaced(subject), text: spaced(text), html };
    },
  };
}
