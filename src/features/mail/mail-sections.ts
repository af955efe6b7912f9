/**
 * How the items of an e-mail are laid out: each property once, as it is now, with every search and reason that led to
 * it, the match first; those that have expired meanwhile in a line at the end. An e-mail shows the properties that
 * changed last and counts the others: one of a hundred kilobytes is cut off by its reader.
 */

import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import type { PropertyDocument } from '../../engine/domain/property-document.ts';
import { type MailProperty, type MailReason, mailProperty } from './mail-item.ts';

/** An item that an e-mail is made of. */
export interface MailItem {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
  readonly reason: MailReason;
}

export interface MailEntry {
  readonly property: MailProperty;
  readonly causes: readonly MailCause[];
}

/** A search that the property was found by, and why it is in the e-mail: the match first, each reason once. */
export interface MailCause {
  readonly searchTitle: string;
  readonly reasons: readonly MailReason[];
}

export interface MailContents {
  /** Not expired. */
  readonly entries: readonly MailEntry[];
  readonly expired: readonly MailProperty[];
  /** Properties that are not shown. */
  readonly moreCount: number;
}

const ENTRIES_MAX = 50;

/** What an e-mail is made of, by property; the one that changed last comes first. */
export function itemsByProperty(items: readonly MailItem[]): ReadonlyMap<Uuid, readonly MailItem[]> {
  const byProperty = new Map<Uuid, MailItem[]>();
  for (const item of [...items].sort((a, b) => (a.id < b.id ? -1 : 1)).reverse()) {
    const known = byProperty.get(item.propertyUuid);
    if (known === undefined) byProperty.set(item.propertyUuid, [item]);
    else known.unshift(item);
  }
  return new Map([...byProperty].slice(0, ENTRIES_MAX));
}

export interface MailSources {
  readonly documents: ReadonlyMap<Uuid, PropertyDocument>;
  /** Price of the last e-mail to the recipient that showed the property. */
  readonly toldPrices: ReadonlyMap<Uuid, number>;
  readonly titles: ReadonlyMap<SearchNumber, string>;
}

/** A property that somebody has removed is left out. */
export function mailContents(items: readonly MailItem[], sources: MailSources): MailContents {
  const byProperty = itemsByProperty(items);
  const all = [...byProperty].flatMap(([uuid, ofProperty]): MailEntry[] => {
    const document = sources.documents.get(uuid);
    if (document === undefined) return [];
    const reasons = ofProperty.map(({ reason }) => reason);
    const property = mailProperty(document, sources.toldPrices.get(uuid) ?? null, reasons);
    return [{ property, causes: causesOf(ofProperty, sources.titles) }];
  });
  const total = new Set(items.map(({ propertyUuid }) => propertyUuid)).size;
  return {
    entries: all.filter(({ property }) => !property.isExpired),
    expired: all.filter(({ property }) => property.isExpired).map(({ property }) => property),
    moreCount: total - byProperty.size,
  };
}

function causesOf(items: readonly MailItem[], titles: ReadonlyMap<SearchNumber, string>): readonly MailCause[] {
  const reasonsOf = new Map<SearchNumber, MailReason[]>();
  for (const { searchNumber, reason } of items) {
    // Several changes of one kind are one reason, with the values from before the first to after the last.
    const reasons = reasonsOf.get(searchNumber) ?? [];
    const same = reasons.findIndex(({ type, kind }) => type === reason.type && kind === reason.kind);
    const [before] = same < 0 ? [] : reasons.splice(same, 1);
    reasons.push({ ...reason, oldValue: (before ?? reason).oldValue });
    reasonsOf.set(searchNumber, reasons);
  }
  const isMatch = ({ type }: MailReason): number => (type === 'match' ? 0 : 1);
  return [...reasonsOf]
    .map(([number, reasons]) => ({
      searchTitle: titles.get(number) ?? '',
      reasons: reasons.sort((a, b) => isMatch(a) - isMatch(b)),
    }))
    .sort((a, b) => isMatch(a.reasons[0] as MailReason) - isMatch(b.reasons[0] as MailReason));
}
