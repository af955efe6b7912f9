/** Explains why a property is or is not a match of a search, from its current evaluation and the recorded history. */

import type { StoredProperty } from '../../engine/domain/change.ts';
import { criterionReason, type Evaluation, evaluate } from '../../engine/domain/criteria.ts';
import { type Language, shownNumber } from '../../engine/domain/criterion-words.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import { type Medians, marketChangedAt } from '../../engine/domain/market-prices.ts';
import { comparablePrice, isPriceCoherent, marketOf } from '../../engine/domain/price-coherence.ts';
import { isLive } from '../../engine/domain/property.ts';
import { type PropertyReading, propertyFacts, readingOf } from '../../engine/domain/property-document.ts';
import { factsOf, summaryOf } from '../../engine/domain/property-summary.ts';
import { horizonsOf } from '../../engine/domain/retention.ts';
import { criteriaOf, type SiteCategoryName } from '../../engine/domain/search.ts';
import { followPoints } from '../../engine/maintenance/followed-points.ts';
import type { PointIndex } from '../../engine/matching/points/poi-index.ts';
import { type AdminDelivery, listPairDeliveries } from '../../engine/store/delivery-admin.ts';
import { readEndpointHealth } from '../../engine/store/endpoints.ts';
import { followMedians } from '../../engine/store/market-medians.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { withDistances, withNames } from './nearby-points.ts';
import { type PairReason, type PairReasonCode, pairReasons, type SearchVersion } from './pair-history.ts';
import { type PairRow, type RecordedVersion, readPair, readPropertyHistory, readSearchHistory } from './pair-rows.ts';

export type Explaining = ReturnType<typeof explainingOf>;

/** The data that all explanations share. `points`: the index that has the names of points of interest. */
export function explainingOf(
  {
    database,
    reference,
    retentionDays,
    now,
  }: Pick<AdminDependencies, 'database' | 'reference' | 'retentionDays' | 'now'>,
  points: () => PointIndex,
) {
  const medians = followMedians(database, (code) => reference.nameOf(code)).renew;
  return { database, reference, retentionDays, now, medians, followedPoints: followPoints(database), points };
}

/** A leader uses a newly stored median within this time. */
const MEDIAN_IN_USE_AFTER_MS = 5_000;

export type Subject = Awaited<ReturnType<typeof subjectOf>>;

/** A property with the data that all its explanations share. */
export async function subjectOf(stored: StoredProperty, explaining: Explaining) {
  const { database, reference } = explaining;
  const reading = readingOf(stored.state, stored.crawls, reference.resolvePlace);
  const medians = await explaining.medians();
  const siteCategoryName = await siteCategoryNames(database);
  const recorded = await readPropertyHistory(database, stored.state.uuid);
  return { stored, reading, facts: propertyFacts(reading, medians), medians, siteCategoryName, recorded };
}

export interface Explanation {
  readonly searchId: Uuid;
  readonly propertyUuid: Uuid;
  readonly evaluations: readonly Evaluation[];
  readonly match: Pick<PairRow, 'matchId'> | null;
  readonly deliveries: readonly Pick<AdminDelivery, 'id'>[];
  readonly reasons: readonly PairReason[];
}

/** Null if the search does not exist any more. */
export async function explainPair(
  number: SearchNumber,
  requested: Subject,
  explaining: Explaining,
): Promise<Explanation | null> {
  const { database, retentionDays, now } = explaining;
  const { stored, siteCategoryName } = requested;
  const search = await readSearchHistory(database, number);
  if (search === null) return null;
  const { members } = search.versions.at(-1) as RecordedVersion;
  const criteria = criteriaOf(members, siteCategoryName);
  const subject = await withDistances(requested, criteria, explaining.followedPoints);
  const points = explaining.points();
  const evaluations = evaluate(criteria, subject.facts).map((one) =>
    // The search hides contacts, and names of agencies are from contacts.
    members.hidePropertyContact && one.criterion === 'includedPublishers'
      ? { ...one, actual: [] }
      : withNames(one, subject.facts, points),
  );
  const match = await readPair(database, number, stored.state.uuid);
  const pair = match && { id: match.matchId, number, updatedAt: match.updatedAt };
  const deliveries = pair === null ? [] : await listPairDeliveries(database, pair);
  const waiting = deliveries.filter(({ state }) => state === 'queued' || state === 'retry_wait');
  const waitedFor = waiting.map(({ endpointKey }) => endpointKey);
  const healths = await readEndpointHealth(database, waitedFor);
  const kept = horizonsOf(retentionDays, now());
  const reasons = pairReasons({
    ...pastOf(subject, kept.events),
    ...search,
    evaluations,
    match,
    versions: search.versions.map((version) => versionOf(version, siteCategoryName)),
    isCancelled: deliveries.some(({ state }) => state === 'cancelled'),
    isPaused: [...healths.values()].some(({ state }) => state === 'paused'),
    areDeliveriesKept:
      match === null || deliveries.length > 0 || kept.deliveries === null || match.updatedAt >= kept.deliveries,
  });
  return { searchId: search.id, propertyUuid: stored.state.uuid, evaluations, match, deliveries, reasons };
}

function pastOf({ stored, reading, facts, medians, recorded }: Subject, horizon: Date | null) {
  const [advert, ...others] = stored.state.adverts;
  const live = stored.state.adverts.filter(isLive);
  const isWhole = recorded.messages.some(({ at }) => at <= recorded.heldSince);
  const byAdvert = new Map(live.map(({ uuid }, i) => [uuid, facts.adverts[i]?.texts ?? []]));
  const texts = { own: facts.texts, byAdvert };
  const lastChangeAt = recorded.messages[0]?.at ?? recorded.heldSince;
  return {
    ...recorded,
    keptSince: isWhole ? null : (recorded.readSince ?? horizon),
    summary: summaryOf(reading, stored.crawls),
    factsOf: (summary: Parameters<typeof factsOf>[0]) => factsOf(summary, medians, texts),
    medianMovedAt: medianMovedAt(reading, medians, lastChangeAt),
    marketMovedAt: movedAfter(lastChangeAt, marketChangedAt(facts, medians.markets)),
    hasSeveralAdverts: others.length > 0,
    isRetraceable: others.length === 0 && advert?.property.price === null && advert.property.surface === null,
  };
}

/** See `PairHistory.medianMovedAt`. */
function medianMovedAt({ priced }: PropertyReading, { changedAt }: Medians, lastChangeAt: Date): Date | null {
  const market = marketOf(priced);
  if (market === null || comparablePrice(priced) === null || !isPriceCoherent(priced, null)) return null;
  return movedAfter(lastChangeAt, changedAt(market));
}

function movedAfter(lastChangeAt: Date, at: Date | null): Date | null {
  return at !== null && at.getTime() > lastChangeAt.getTime() - MEDIAN_IN_USE_AFTER_MS ? at : null;
}

function versionOf({ version, from, members }: RecordedVersion, siteCategoryName: SiteCategoryName): SearchVersion {
  return {
    version,
    from,
    criteria: criteriaOf(members, siteCategoryName),
    isNotifying: members.notificationEnabled,
    hasMatchEndpoint: members.endpointRecipient !== null,
    hasEventEndpoint: members.eventEndpoint !== null,
    hasMailRecipient: members.hasNotificationRecipient ?? members.notificationRecipient !== null,
    subscribedEvents: members.subscribedEvents,
  };
}

interface ReasonFacts {
  readonly at: string | null;
  readonly was: string;
  readonly is: string;
  /** Name of a criterion, or number of an alternative. */
  readonly what: string;
}
type Sentence = (reason: ReasonFacts) => string;

const on = (word: string, at: string | null): string => (at === null ? '' : `${word}${at}`);

const WORDS: Readonly<Record<Language, Readonly<Record<PairReasonCode, Sentence>>>> = {
  fr: {
    satisfied: () => 'Le bien correspond à la recherche.',
    unsatisfied: () => 'Le bien ne correspond pas à la recherche.',
    'price-incoherent': () => "Le bien ne correspond pas à la recherche\u00a0: son prix n'est pas cohérent.",
    'median-moved': ({ at }) => `La médiane des prix au m² de son marché a changé depuis, le ${at}.`,
    'not-notified': () => "Rien n'a été signalé à son sujet.",
    began: ({ at }) => `Le bien s'est mis à correspondre à la recherche le ${at}.`,
    'began-with-advert': ({ at }) =>
      `Le bien s'est mis à correspondre à la recherche avec la parution d'une annonce, le ${at}.`,
    'began-by-price': ({ at, was, is }) =>
      `Le bien s'est mis à correspondre à la recherche le ${at}\u00a0: le prix est alors passé de ${was} à ${is}.`,
    'began-by-surface': ({ at, was, is }) =>
      `Le bien s'est mis à correspondre à la recherche le ${at}\u00a0: la surface est alors passée de ${was} à ${is}.`,
    'notified-of-event': ({ at }) =>
      `Le bien correspondait déjà à la recherche quand un événement a été signalé, le ${at}.`,
    'stood-when-created': ({ at }) => `Il correspondait déjà quand la recherche a été créée${on(', le ', at)}.`,
    'stood-when-changed': ({ at }) =>
      `Il s'est mis à correspondre quand la recherche a été modifiée${on(', le ', at)}.`,
    'began-while-silent': ({ at }) =>
      `Il s'est mis à correspondre${on(' le ', at)} pendant que les notifications de la recherche étaient désactivées.`,
    'not-recorded': () => "La raison pour laquelle il correspond n'est pas enregistrée.",
    left: () => "Il n'y correspond plus.",
    'came-back': ({ at }) =>
      `Il avait cessé d'y correspondre et y est revenu${on(' le ', at)}\u00a0; une correspondance n'est signalée qu'une fois.`,
    'end-notified': ({ at, what }) => `La fin de la correspondance a été signalée le ${at} (critère\u00a0: ${what}).`,
    'return-notified': ({ at }) => `Son retour a été signalé le ${at}.`,
    'not-subscribed': () => "La recherche n'est pas abonnée aux événements survenus depuis.",
    'no-endpoint': () => "La recherche n'avait alors pas d'adresse pour le recevoir\u00a0: seul le flux l'a.",
    cancelled: () => 'Des envois ont été annulés\u00a0: recherche ou notifications arrêtées, ou e-mail sans nouveauté.',
    paused: () => 'Des envois attendent\u00a0: leur adresse est en pause.',
    unsubscribed: () => "Le destinataire des e-mails s'est désabonné.",
    'deliveries-forgotten': () => 'Les envois ne sont plus conservés.',
    'notifications-off': () => 'Les notifications de la recherche sont désactivées.',
    'search-deleted': ({ at }) => `La recherche a été supprimée le ${at}.`,
    'by-alternative': ({ what }) => `Il y correspond par l'alternative ${what}.`,
  },
  en: {
    satisfied: () => 'The property matches the search.',
    unsatisfied: () => 'The property does not match the search.',
    'price-incoherent': () => 'The property does not match the search: its price is not coherent.',
    'median-moved': ({ at }) => `The median price per m² of its market has changed since, on ${at}.`,
    'not-notified': () => 'No notification about the property was recorded.',
    began: ({ at }) => `The property began to match the search on ${at}.`,
    'began-with-advert': ({ at }) => `The property began to match the search on ${at}, when an advert appeared.`,
    'began-by-price': ({ at, was, is }) =>
      `The property began to match the search on ${at}, when the price went from ${was} to ${is}.`,
    'began-by-surface': ({ at, was, is }) =>
      `The property began to match the search on ${at}, when the surface went from ${was} to ${is}.`,
    'notified-of-event': ({ at }) => `The property already matched the search when an event was notified on ${at}.`,
    'stood-when-created': ({ at }) => `It already matched when the search was created${on(' on ', at)}.`,
    'stood-when-changed': ({ at }) => `It began to match when the search was changed${on(' on ', at)}.`,
    'began-while-silent': ({ at }) =>
      `It began to match${on(' on ', at)} while the notifications of the search were off.`,
    'not-recorded': () => 'The reason why it matches is not recorded.',
    left: () => 'It no longer matches.',
    'came-back': ({ at }) => `It stopped matching and matched again${on(' on ', at)}: a match is notified only once.`,
    'end-notified': ({ at, what }) => `The end of the match was notified on ${at} (criterion: ${what}).`,
    'return-notified': ({ at }) => `The return of the property was notified on ${at}.`,
    'not-subscribed': () => 'The search does not subscribe to the events that have occurred since.',
    'no-endpoint': () => 'The search had no endpoint for the notification at that time: only the feed contains it.',
    cancelled: () => 'Deliveries were cancelled: the search or its notifications ended, or an e-mail had no news left.',
    paused: () => 'Deliveries are waiting because their endpoint is paused.',
    unsubscribed: () => 'The recipient of the e-mails has unsubscribed.',
    'deliveries-forgotten': () => 'The deliveries are no longer kept.',
    'notifications-off': () => 'The notifications of the search are off.',
    'search-deleted': ({ at }) => `The search was deleted on ${at}.`,
    'by-alternative': ({ what }) => `It matches by alternative ${what}.`,
  },
};

export function reasonSentence({ code, at, was, is, criterion }: PairReason, language: Language): string {
  const unit = code === 'began-by-price' ? '€' : 'm²';
  const show = (value: string | null = null): string =>
    value === null
      ? { fr: 'inconnu', en: 'unknown' }[language]
      : `${shownNumber(Number(value), language)}\u00a0${unit}`;
  const what = criterion ?? '';
  return WORDS[language][code]({ at: at === null ? null : day(at, language), was: show(was), is: show(is), what });
}

/** All reasons in one text, with the criteria that fail. */
export function matchReasonOf(
  reasons: readonly PairReason[],
  evaluations: readonly Evaluation[],
  language: Language,
): string {
  const failing = evaluations.filter(({ holds }) => !holds).map((evaluation) => criterionReason(evaluation, language));
  return reasons
    .flatMap((reason) => {
      const isFailure = reason.code === 'unsatisfied' || reason.code === 'price-incoherent';
      return [reasonSentence(reason, language), ...(isFailure ? failing : [])];
    })
    .join(' ');
}

/** In Paris time and the format of the language, to the minute. */
function day(at: Date, language: Language): string {
  const locale = language === 'fr' ? 'fr-FR' : 'en-GB';
  const shown = at.toLocaleString(locale, { timeZone: 'Europe/Paris', dateStyle: 'long', timeStyle: 'short' });
  return `${shown} ${language === 'fr' ? '(heure de Paris)' : '(Paris time)'}`;
}
