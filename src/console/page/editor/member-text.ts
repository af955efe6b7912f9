/** The members of an edited search in words: their names and values. */

import { FLAG_CRITERIA, RANGE_MEMBERS } from '../generated/documents.ts';
import type { Formats } from '../words/formats.ts';
import type { Words } from '../words/language.ts';
import type { Draft, FlagMember, RangeMember } from './draft.ts';
import { sentenceOf } from './word-fields.tsx';

export function memberName(member: keyof Draft, words: Words): string {
  if (member === 'shapes') return words.polygons;
  if (member === 'groups') return words.wordsLegend;
  if (isFlag(member)) return words.flags[member];
  if (!isRange(member)) return words.members[member];
  const [, root = '', end = ''] = /^(\w+)(Min|Max)$/.exec(member) ?? [];
  return `${words.members[root as keyof Words['members']]} (${end === 'Min' ? words.min : words.max})`;
}

function isFlag(member: keyof Draft): member is FlagMember {
  return (FLAG_CRITERIA as readonly string[]).includes(member);
}

function isRange(member: keyof Draft): member is RangeMember {
  return (RANGE_MEMBERS as readonly string[]).includes(member);
}

/** Empty: not set. */
export function memberText(draft: Draft, member: keyof Draft, words: Words, formats: Formats): string {
  const coded = (names: readonly string[], codes: readonly (string | number)[]): string =>
    codes.flatMap((code) => (code === '' ? [] : (names[Number(code)] ?? []))).join(', ');
  const special: Partial<Record<keyof Draft, () => string>> = {
    shapes: () => (draft.shapes.length === 0 ? '' : words.polygonCount(draft.shapes.length)),
    groups: () => sentenceOf(draft.groups, words),
    transactionType: () => coded(words.transactions, [draft.transactionType]),
    propertyTypes: () => coded(words.propertyTypes, draft.propertyTypes),
    publisherTypes: () => coded(words.publisherTypes, draft.publisherTypes),
    notificationConsent: () => draft.notificationConsent?.source ?? '',
    includedFeatures: () => draft.includedFeatures.map((name) => words.features[name]).join(', '),
    excludedFeatures: () => draft.excludedFeatures.map((name) => words.features[name]).join(', '),
    orMissing: () => draft.orMissing.map((name) => words.criteria[name]).join(', '),
    notificationFrequency: () => words.frequencies[draft.notificationFrequency as keyof Words['frequencies']],
    eventThresholds: () => (draft.eventThresholds === null ? '' : JSON.stringify(draft.eventThresholds)),
    subscribedEvents: () =>
      draft.subscribedEvents.map((kind) => words.events[kind as keyof Words['events']]).join(', '),
  };
  const value = draft[member];
  if (isFlag(member)) return value === '' ? words.either : value === 'true' ? words.yes : words.no;
  const isNumber = isRange(member) && value !== '' && Number.isFinite(Number(value));
  if (isNumber) return formats.number(Number(value));
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  return (
    special[member]?.() ??
    [value]
      .flat()
      .map((one) => (typeof one === 'object' && one !== null ? ('label' in one ? one.label : '') : one))
      .join(', ')
  );
}
