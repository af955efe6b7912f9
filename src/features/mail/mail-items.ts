/** The items of e-mails as the recorder writes them: one for each reason to notify a recipient of a property. */

import type { AdvertEvent } from '../../engine/domain/advert.ts';
import type { EventKind } from '../../engine/domain/codes.ts';
import type { InLanguages } from '../../engine/domain/criterion-words.ts';
import { type SearchNumber, type Uuid, uuidAfter } from '../../engine/domain/ids.ts';
import type { MailRoute } from '../../engine/domain/mail.ts';
import { cut } from '../../engine/domain/text.ts';
import type { NotifiedPair } from '../../engine/intake/alerts.ts';

/** `match`: the property began to satisfy the search. */
export interface MailReason {
  readonly type: 'match' | 'event';
  readonly kind: EventKind;
  readonly oldValue: string | null;
  readonly newValue: string | null;
  /** The advert that changed. */
  readonly advertUuid?: Uuid | undefined;
  /** Why a match has ended. */
  readonly why?: InLanguages<string> | undefined;
  /** Number of days for which an advert that is live again was expired. */
  readonly daysAway?: number | undefined;
  /** True if another item of the same change describes it more precisely. */
  readonly isCovered?: boolean;
}

export interface NewMailItem {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  readonly propertyUuid: Uuid;
  readonly route: MailRoute;
  /** The generation of the search, which is incremented when the search is silenced. */
  readonly generation: number;
  readonly reason: MailReason;
}

export const NAME_LENGTH_MAX = 100;

const NONE: readonly MailReason[] = [];
const IMPRECISE: readonly EventKind[] = ['property.ad.create', 'property.ad.update'];

/** The reasons to send an e-mail for a search: a match that begins, and events of its subscribed kinds. */
export function mailReasonsOf(
  route: { readonly mail: MailRoute | null; readonly subscribedEvents: readonly EventKind[] },
  events: readonly AdvertEvent[],
  hasBegun: boolean,
): readonly MailReason[] {
  if (route.mail === null) return NONE;
  const reasons: MailReason[] = [];
  if (hasBegun) {
    const isNewAdvert = events.some(({ kind }) => kind === 'property.ad.create');
    const kind = isNewAdvert ? 'property.ad.create' : 'property.ad.update';
    reasons.push({ type: 'match', kind, oldValue: null, newValue: null, advertUuid: events[0]?.advertUuid });
  }
  const subscribed = events.filter(({ kind }) => route.subscribedEvents.includes(kind));
  const isSaid = hasBegun || subscribed.some(({ kind }) => !IMPRECISE.includes(kind));
  for (const { kind, field, advertUuid } of subscribed) {
    const [oldValue = null, newValue = null] = [field?.fieldOldValue, field?.fieldNewValue].map(
      (value) => value && cut(value, NAME_LENGTH_MAX),
    );
    const isCovered = isSaid && IMPRECISE.includes(kind);
    const { daysAway, reason: why } = field ?? {};
    reasons.push({ type: 'event', kind, oldValue, newValue, advertUuid, daysAway, why, isCovered });
  }
  return reasons;
}

/** One item for each reason of each pair. */
export function newMailItems(pairs: readonly NotifiedPair[]): readonly NewMailItem[] {
  // The changes of a batch have the same time, so ascending ids keep their order.
  let id: Uuid | null = null;
  return pairs.flatMap(({ route, match, change, events, hasBegun }) => {
    const { clientId, generation, mail } = route;
    if (mail === null) return [];
    return mailReasonsOf(route, events, hasBegun).map((reason) => {
      id = uuidAfter(id, match.updatedAt);
      const { searchNumber, id: matchId } = match;
      return {
        id,
        clientId,
        searchNumber,
        matchId,
        propertyUuid: change.propertyUuid,
        route: mail,
        generation,
        reason,
      };
    });
  });
}
