/** What the service finds wrong with a search, by the member that it is wrong with. */

import type { Violation } from '../rest.ts';

export interface Violations {
  /** The first words about the member, or anything within it. */
  of(member: string): string | undefined;
  ofAny(members: readonly string[]): boolean;
  /** About the search as a whole, or members that have no field. */
  readonly others: readonly string[];
  readonly count: number;
}

export function violationsOf(list: readonly Violation[], members: readonly string[]): Violations {
  const memberOf = ({ propertyPath }: Violation): string => /^\w*/.exec(propertyPath)?.[0] ?? '';
  const byMember = grouped(list, memberOf);
  return {
    of: (member) =>
      byMember
        .get(member)
        ?.map(({ message }) => message)
        .join('; '),
    ofAny: (names) => names.some((member) => byMember.has(member)),
    others: list
      .filter((one) => !members.includes(memberOf(one)))
      .map(({ propertyPath, message }) => `${propertyPath}: ${message}`),
    count: list.length,
  };
}

function grouped(
  list: readonly Violation[],
  keyOf: (one: Violation) => string,
): ReadonlyMap<string, readonly Violation[]> {
  const groups = new Map<string, Violation[]>();
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}
