/**
 * How the items of an e-mail are laid out: search by search, each property once, with every reason why it is told. An
 * e-mail shows the newest of them and counts the others: one of a hundred kilobytes is cut off by its reader.
 */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { MailItemContent, MailReason } from '../domain/mail-item.ts';

/** An item that an e-mail is made of, without what it says. */
export interface MailItem {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
}

export interface MailEntry {
  /** As its newest item tells it. */
  readonly content: MailItemContent;
  /** Oldest first. */
  readonly reasons: readonly MailReason[];
}

export interface MailSection {
  readonly title: string;
  readonly entries: readonly MailEntry[];
}

export interface MailContents {
  readonly sections: readonly MailSection[];
  /** Properties that are not shown. */
  readonly moreCount: number;
}

const ENTRIES_MAX = 50;
/** Of one property: it may have changed a hundred times in a week. */
const ITEMS_PER_ENTRY_MAX = 5;

export interface ShownItems {
  readonly items: readonly MailItem[];
  readonly moreCount: number;
}

/** Those whose content is shown, oldest first: the newest of each property, of the properties that changed last. */
export function shownOf(items: readonly MailItem[]): ShownItems {
  const byMatch = new Map<Uuid, MailItem[]>();
  // Time-ordered: the newest has the greatest id.
  for (const item of [...items].sort((a, b) => (a.id < b.id ? 1 : -1))) {
    const known = byMatch.get(item.matchId) ?? [];
    if (known.length < ITEMS_PER_ENTRY_MAX) known.push(item);
    byMatch.set(item.matchId, known);
  }
  const shown = [...byMatch.values()].slice(0, ENTRIES_MAX).flat().reverse();
  return { items: shown, moreCount: Math.max(0, byMatch.size - ENTRIES_MAX) };
}

/** Searches and properties in the order of their last change, newest first. `contents` lacks what somebody has removed. */
export function sectionsOf(
  { items, moreCount }: ShownItems,
  contents: ReadonlyMap<Uuid, MailItemContent>,
  titles: ReadonlyMap<SearchNumber, string>,
): MailContents {
  const entries = new Map<Uuid, { searchNumber: SearchNumber; content: MailItemContent; reasons: MailReason[] }>();
  for (const { id, matchId, searchNumber } of items) {
    const content = contents.get(id);
    if (content === undefined) continue;
    const reasons = [...(entries.get(matchId)?.reasons ?? []), content.reason];
    // Set anew, so that the order is that of the last change.
    entries.delete(matchId);
    entries.set(matchId, { searchNumber, content, reasons });
  }
  const sections = new Map<SearchNumber, MailEntry[]>();
  for (const { searchNumber, ...entry } of [...entries.values()].reverse()) {
    sections.set(searchNumber, [...(sections.get(searchNumber) ?? []), entry]);
  }
  return {
    sections: [...sections].map(([number, ofSearch]) => ({ title: titles.get(number) ?? '', entries: ofSearch })),
    moreCount,
  };
}
