/**
 * The order in which an e-mail shows its properties: new matches, price cuts by percent, the others. Only the recorded
 * reasons decide the order, so that properties that are only counted need not be read.
 */

import type { Uuid } from '../../engine/domain/ids.ts';
import { type MailItem, news } from './mail-contents.ts';

/** The kinds of news about a property. An e-mail counts each property under one of them. */
export const NEWS_KINDS = ['match', 'cut', 'back', 'change', 'gone'] as const;
export type NewsKind = (typeof NEWS_KINDS)[number];

export interface MailNews<Item extends MailItem> {
  readonly uuid: Uuid;
  /** The oldest first. */
  readonly items: readonly Item[];
  readonly kind: NewsKind;
}

/** Sorts price cuts by percent, matches and others by the last change. Properties without news are among the others. */
export function inOrder<Item extends MailItem>(items: readonly Item[]): readonly MailNews<Item>[] {
  return [...itemsByProperty(items)]
    .map(([uuid, ofProperty]) => {
      const said = news(ofProperty);
      const ratio = priceRatio(said);
      return { uuid, items: ofProperty, kind: kindOf(said, ratio), ratio };
    })
    .sort((a, b) => rankOf(a.kind) - rankOf(b.kind) || (a.kind === 'cut' ? a.ratio - b.ratio : 0));
}

function rankOf(kind: NewsKind): number {
  return kind === 'match' ? 0 : kind === 'cut' ? 1 : 2;
}

function kindOf(items: readonly MailItem[], ratio: number): NewsKind {
  if (items.some(({ reason }) => reason.type === 'match')) return 'match';
  if (ratio < 1) return 'cut';
  return items.some(({ reason }) => reason.kind === 'ad.update.reactivated') ? 'back' : 'change';
}

/** The lowest ratio of an advert's last price to the price before its first change; 1 if no advert has a cut. */
function priceRatio(items: readonly MailItem[]): number {
  const before = new Map<Uuid | undefined, number>();
  const ratios = new Map<Uuid | undefined, number>();
  for (const { reason } of items) {
    if (reason.kind !== 'ad.update.price' || reason.oldValue === null || reason.newValue === null) continue;
    const first = before.get(reason.advertUuid) ?? Number(reason.oldValue);
    before.set(reason.advertUuid, first);
    if (first > 0) ratios.set(reason.advertUuid, Number(reason.newValue) / first);
  }
  return Math.min(1, ...ratios.values());
}

/** The items of each property, the oldest first; the property that changed last is the first one. */
function itemsByProperty<Item extends MailItem>(items: readonly Item[]): ReadonlyMap<Uuid, readonly Item[]> {
  const byProperty = new Map<Uuid, Item[]>();
  for (const item of [...items].sort((a, b) => (a.id < b.id ? 1 : -1))) {
    const known = byProperty.get(item.propertyUuid);
    if (known === undefined) byProperty.set(item.propertyUuid, [item]);
    else known.unshift(item);
  }
  return byProperty;
}
