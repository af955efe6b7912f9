/** Violations of a search by member. */

import type { Violation } from '../rest.ts';

export interface Violations {
  /** The first violation of the member or of a part of it. */
  of(member: string): string | undefined;
  ofAny(members: readonly string[]): boolean;
  /** Violations of the whole search, or of members without a field. */
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
