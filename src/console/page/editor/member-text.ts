/** The members of an edited search in words: their names and values. */

import { FLAG_CRITERIA, RANGE_MEMBERS } from '../generated/documents.ts';
import type { Words } from '../words/language.ts';
import type { Draft, FlagMember, RangeMember } from './draft.ts';

export function memberName(member: keyof Draft, words: Words): string {
  if (member === 'shapes') return words.polygons;
  if (member === 'excludedShapes') return words.members.excludedGeoShapes;
  if (member === 'groups') return words.wordsLegend;
  if (isFlag(member)) return words.flags[member];
  if (!isRange(member)) return words.members[member];
  const [, root = '', end = ''] = /^(\w+)(Min|Max)$/.exec(member) ?? [];
  return `${words.members[root as keyof Words['members']]} (${end === 'Min' ? words.min : words.max})`;
}

/** The name of the member in the path of a violation, such as `includedZipcodes[1]`. */
export function pathName(propertyPath: string, words: Words): string {
  const [member = ''] = propertyPath.split(/[.[]/, 1);
  return memberName(member as keyof Draft, words) ?? member;
}

function isFlag(member: keyof Draft): member is FlagMember {
  return (FLAG_CRITERIA as readonly string[]).includes(member);
}

function isRange(member: keyof Draft): member is RangeMember {
  return (RANGE_MEMBERS as readonly string[]).includes(member);
}

/** The value of a member that is set in a fold. `siteCategories`: the names of site categories by IRI. */
export function memberText(
  draft: Draft,
  member: keyof Draft,
  { words, siteCategories }: { words: Words; siteCategories: ReadonlyMap<string, string> },
): string {
  const value = draft[member];
  if (isFlag(member)) return value === '' ? words.either : value === 'true' ? words.yes : words.no;
  const isNumber = isRange(member) && value !== '' && Number.isFinite(Number(value));
  if (isNumber) return words.number(Number(value));
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  const names: Partial<Record<keyof Draft, (value: string) => string | undefined>> = {
    publisherTypes: (code) => words.publisherTypes[Number(code)],
    includedFeatures: (name) => words.features[name as keyof Words['features']],
    excludedFeatures: (name) => words.features[name as keyof Words['features']],
    includedSiteCategories: (iri) => siteCategories.get(iri),
    excludedSiteCategories: (iri) => siteCategories.get(iri),
  };
  return [value]
    .flat()
    .filter((each) => typeof each === 'string')
    .map((each) => names[member]?.(each) ?? each)
    .join(', ');
}
