/** Violations of a search by member. */

import type { Violation } from '../rest.ts';

export type Violations = ReturnType<typeof violationsOf>;

export function violationsOf(list: readonly Violation[], members: readonly string[]) {
  const memberOf = ({ propertyPath }: Violation): string => /^\w*/.exec(propertyPath)?.[0] ?? '';
  const messagesOf = (member: string) => list.filter((one) => memberOf(one) === member).map(({ message }) => message);
  return {
    /** Violations of the member, or of parts of it. */
    of: (member: string): string | undefined => messagesOf(member).join('; ') || undefined,
    ofAny: (names: readonly string[]): boolean => names.some((member) => messagesOf(member).length > 0),
    /** Violations of the whole search, or of members without a field. */
    others: list
      .filter((one) => !members.includes(memberOf(one)))
      .map(({ propertyPath, message }) => `${propertyPath}: ${message}`),
  };
}
