/**
 * What is wrong with a body, in bounded words: however much it is, the answer has the first of it and how much more
 * there is, and costs no more than that.
 */

import { nearestName } from '../engine/domain/nearest-name.ts';
import type { ViolationCode } from './error-codes.ts';
import { Problem, type Violation } from './problem.ts';
import { FAULTS, joined, ofMember, REFUSALS, type Sentence } from './sentences.ts';

export const VIOLATIONS_MAX = 50;
/** Comparing a name with all known ones takes as long as everything else about a member. */
const NEAREST_NAMES_MAX = 10;
const PATH_LENGTH_MAX = 64;

export type Path = readonly PropertyKey[];

export class Violations {
  readonly #first: Violation[] = [];
  #count = 0;
  #nearestNames = 0;

  get count(): number {
    return this.#count;
  }

  add(path: Path, message: Sentence, code: ViolationCode): void {
    this.#count += 1;
    if (this.#first.length < VIOLATIONS_MAX) this.#first.push({ propertyPath: textOf(path), message, code });
  }

  /** Whether the answer says something of the member itself. */
  isTold(member: string): boolean {
    return this.#first.some(({ propertyPath }) => propertyPath === member);
  }

  /** Without a word of their own: there are enough already. */
  addMore(count: number): void {
    this.#count += count;
  }

  /** `what` it is no member of; the name is the last step of the path. */
  addUnknown(path: Path, what: Sentence, known: readonly string[]): void {
    const isCompared = this.#nearestNames < NEAREST_NAMES_MAX;
    this.#nearestNames += 1;
    const nearest = isCompared ? nearestName(String(path.at(-1)), known) : null;
    this.add(path, nearest === null ? FAULTS.unknown(what) : FAULTS.unknownNear(what, nearest), 'unknown_member');
  }

  /** Throws a 422 `Problem` unless nothing is wrong. */
  throwAny(): void {
    if (this.#count === 0) return;
    const detail = this.#first.map(({ propertyPath, message }) => ofMember(propertyPath, message));
    const more = this.#count - this.#first.length;
    if (more > 0) detail.push(REFUSALS.andMore(more));
    const members = { violationCount: this.#count };
    throw new Problem(422, joined(detail, '\n'), { violations: this.#first, members });
  }
}

/** `includedCities[2]`, `expressions[0][0].options.include`; a long one ends in an ellipsis. */
function textOf(path: Path): string {
  let text = '';
  for (const step of path) {
    text += typeof step === 'number' ? `[${step}]` : `${text === '' ? '' : '.'}${String(step)}`;
    if (text.length > PATH_LENGTH_MAX) return `${text.slice(0, PATH_LENGTH_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…`;
  }
  return text;
}
