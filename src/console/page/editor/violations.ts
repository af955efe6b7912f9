/** Violations of a search by member. */

import type { Violation } from '../rest.ts';

export interface Violations {
  readonly isEmpty: boolean;
  /** Violations of the member, or of parts of it. */
  of(member: string): string | undefined;
  /** Violations of the member as a whole. */
  ofWhole(member: string): string | undefined;
  ofAny(names: readonly string[]): boolean;
  /** Violations of the object at `path`, such as `alternatives[1]`, with paths relative to it. */
  within(path: string): Violations;
  /** Violations of the whole object, or of members without a field. */
  readonly others: readonly string[];
}

/** `members`: those that have a field. */
export function violationsOf(list: readonly Violation[], members: readonly string[]): Violations {
  const isAt = ({ propertyPath }: Violation, path: string): boolean =>
    propertyPath === path || propertyPath.startsWith(`${path}.`) || propertyPath.startsWith(`${path}[`);
  const messagesOf = (chosen: readonly Violation[]) => chosen.map(({ message }) => message).join('; ') || undefined;
  return {
    isEmpty: list.length === 0,
    of: (member) => messagesOf(list.filter((one) => isAt(one, member))),
    ofWhole: (member) => messagesOf(list.filter(({ propertyPath }) => propertyPath === member)),
    ofAny: (names) => list.some((one) => names.some((member) => isAt(one, member))),
    within: (path) => {
      const inside = list.filter((one) => isAt(one, path));
      const relative = (whole: string): string => whole.slice(path.length).replace(/^\./, '');
      return violationsOf(
        inside.map((one) => ({ ...one, propertyPath: relative(one.propertyPath) })),
        members,
      );
    },
    others: list
      .filter((one) => !members.some((member) => isAt(one, member)))
      .map(({ propertyPath, message }) => (propertyPath === '' ? message : `${propertyPath}: ${message}`)),
  };
}
