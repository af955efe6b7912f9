/** Sentences for operators on what is not obvious of a pair: what holds today, and what was notified of it. */

import type { HeldProperty } from '../engine/domain/change.ts';
import type { CriterionVerdict } from '../engine/domain/criteria.ts';
import { isLive } from '../engine/domain/property.ts';
import type { AdminSearch, PairRow } from '../engine/store/pairs.ts';

export interface Judged {
  readonly search: AdminSearch;
  readonly held: HeldProperty;
  readonly pair: PairRow | null;
  readonly verdicts: readonly CriterionVerdict[];
  readonly deliveryCount: number;
}

export function notesOf(judged: Judged): string[] {
  return [...silenceNotes(judged), ...matchNotes(judged), ...eventNotes(judged)];
}

/** What keeps the search from being told at all, whatever happens. */
function silenceNotes({ search: { members, deletedAt } }: Judged): string[] {
  const notes: string[] = [];
  if (deletedAt !== null) notes.push(`the search was deleted at ${iso(deletedAt)}`);
  if (!members.notificationEnabled) notes.push('notifications of the search are off: nothing is sent');
  if (members.endpointRecipient === null) notes.push('the search has no endpointRecipient: matches are not sent');
  if (members.eventEndpoint === null) notes.push('the search has no eventEndpoint: events are not sent');
  else if (members.subscribedEvents.length === 0) notes.push('the search subscribes to no kind of event');
  return notes;
}

/** What holds today, and what was notified. */
function matchNotes({ held, pair, verdicts, deliveryCount }: Judged): string[] {
  const failing = verdicts.filter(({ holds }) => !holds).map(({ criterion }) => criterion);
  const notes = held.state.adverts.some(isLive) ? [] : ['the property has no live advert: it satisfies no search'];
  if (failing.length > 0) notes.push(`the property does not satisfy the search: ${failing.join(', ')}`);
  if (pair === null) notes.push('nothing was notified of the pair');
  else if (!pair.hasBegun) notes.push(`satisfied already when it was first notified (${iso(pair.createdAt)})`);
  if (pair !== null && deliveryCount === 0)
    notes.push('of what was notified no delivery is kept, or only the feed had it');
  return notes;
}

/** Kinds that the search would not be told of today although somebody listens; the document keeps the newest events. */
function eventNotes({ search: { members }, held, pair }: Judged): string[] {
  if (pair === null || members.eventEndpoint === null || members.subscribedEvents.length === 0) return [];
  const events = held.state.adverts.flatMap((advert) => advert.events);
  const kinds = [...new Set(events.map(({ kind }) => kind))].filter((kind) => !members.subscribedEvents.includes(kind));
  return kinds.map((kind) => {
    const times = events.filter((event) => event.kind === kind).map(({ createdAt }) => createdAt);
    return `${kind} (${times.length} so far, the last at ${times.sort().at(-1)}) is not sent: the search does not subscribe to it`;
  });
}

export function iso(at: Date | null): string {
  return at?.toISOString() ?? 'an unknown time';
}
