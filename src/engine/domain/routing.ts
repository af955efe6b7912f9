/**
 * Decides which searches are notified of a change (specification, section 6.1; decisions, section 4). A new match is
 * sent to the search's `endpointRecipient`. An event is sent to the `eventEndpoint` of searches that subscribe to its
 * kind. If there is no endpoint, the feed shows the notification nevertheless (decisions, section 11).
 */

import type { AdvertEvent, FieldChange } from './advert.ts';
import type { EventKind } from './codes.ts';
import type { WebhookChannel } from './delivery.ts';
import type { EventThresholds } from './event-thresholds.ts';
import type { Uuid } from './ids.ts';
import type { MailRoute } from './mail.ts';
import { propertyIri } from './property-document.ts';
import type { Search, SearchMembers } from './search.ts';

/** The data of a search that routing needs. It is read in the transaction that records the change. */
export interface SearchRoute
  extends Pick<Search, 'number' | 'id' | 'clientId'>,
    Pick<SearchMembers, 'endpointRecipient' | 'eventEndpoint' | 'subscribedEvents' | 'hidePropertyContact'> {
  /** Incremented when the search is deleted or its notifications are disabled. */
  readonly generation: number;
  /** Incremented by each change that is recorded in the search's history. */
  readonly version: number;
  /** Null if no e-mail is sent. */
  readonly mail: MailRoute | null;
  /** Null if the search has no thresholds. */
  readonly thresholds: RouteThresholds | null;
}

/** The numbers are ids of events. They are null if no field is compared with its last notified value. */
export interface RouteThresholds {
  readonly fields: EventThresholds;
  /** The last event before the search began to compare with notified values, which are stored from then on. */
  readonly keptSince: number | null;
  /** The last event before the search began to compare or, if that was later, began to notify. */
  readonly comparedSince: number | null;
}

export interface MatchRecord {
  readonly id: Uuid;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Notification {
  readonly channel: WebhookChannel;
  readonly kind: EventKind;
  /** Null if no webhook is sent. The feed shows the notification in any case. */
  readonly endpoint: string | null;
  /** `adEvent` of the body; null omits the member. */
  readonly field: (FieldChange & { readonly createdAt: string }) | null;
}

/** `hasBegun`: whether the match of the search and the property begins with the change. */
export function notificationsOf(route: SearchRoute, events: readonly AdvertEvent[], hasBegun: boolean) {
  const notifications: Notification[] = [];
  if (hasBegun) {
    const isNewAdvert = events.some((event) => event.kind === 'property.ad.create');
    const kind = isNewAdvert ? 'property.ad.create' : 'property.ad.update';
    notifications.push({ channel: 'match', kind, endpoint: route.endpointRecipient, field: null });
  }
  for (const event of events) {
    if (!route.subscribedEvents.includes(event.kind)) continue;
    const field = event.field === null ? null : { ...event.field, createdAt: event.createdAt };
    notifications.push({ channel: 'event', kind: event.kind, endpoint: route.eventEndpoint, field });
  }
  return notifications;
}

/**
 * The delivery body (specification, section 6.2) up to the property document, which `bodyOf` appends. The document is
 * serialised at most once per change for all searches that receive contacts, and once for those that hide them.
 */
export function bodyHead(
  notification: Pick<Notification, 'kind' | 'field'>,
  searchId: Uuid,
  propertyUuid: Uuid,
  match: MatchRecord,
): string {
  const envelope = JSON.stringify({
    event: notification.kind,
    ...(notification.field === null ? {} : { adEvent: adEventOf(notification.field) }),
    match: {
      '@context': '/contexts/Match',
      '@id': `/matches/${match.id}`,
      '@type': 'Match',
      property: propertyIri(propertyUuid),
      search: `/searches/${searchId}`,
      createdAt: match.createdAt,
      updatedAt: match.updatedAt,
    },
  });
  return `${envelope.slice(0, -'}}'.length)},"propertyDocument":`;
}

export function bodyOf(head: string, document: string): string {
  return `${head}${document}}}`;
}

function adEventOf(field: FieldChange & { readonly createdAt: string }): Record<string, string | number | null> {
  return {
    fieldName: field.fieldName,
    fieldOldValue: field.fieldOldValue,
    fieldNewValue: field.fieldNewValue,
    percentVariation: field.percentVariation === null ? null : field.percentVariation.toFixed(2),
    createdAt: field.createdAt,
    ...(field.daysAway === undefined ? {} : { daysAway: field.daysAway }),
  };
}

interface RecordedDocument {
  readonly adverts?: readonly { readonly contact?: unknown }[];
}

/** Sets every contact in a snapshot's JSON to null, to show it for a search that hides them (decisions, section 5). */
export function withoutContacts(document: string): string {
  const recorded = JSON.parse(document) as RecordedDocument;
  return JSON.stringify({ ...recorded, adverts: recorded.adverts?.map((advert) => ({ ...advert, contact: null })) });
}

/** Whether an advert in the JSON of a snapshot has a contact. */
export function hasContacts(document: string): boolean {
  const { adverts = [] } = JSON.parse(document) as RecordedDocument;
  return adverts.some(({ contact = null }) => contact !== null);
}
