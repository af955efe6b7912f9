/**
 * Whether the database has forgotten what it had recorded, as the messages of a term tell: what was acknowledged once is
 * no news to a database that was not restored.
 */

import type { Term } from '../store/intake-leader.ts';
import { raiseSequenceFloor } from '../store/intake-position.ts';
import type { IntakeDependencies } from './intake.ts';
import type { IntakeStart } from './position.ts';

export interface Memory {
  /** Messages up to this one tell whether the database was restored; 0 once that is known. */
  readonly tellingUpTo: number;
  /** Raises the numbers of what is told from now on, once, whichever shares find out. */
  noteForgotten(): Promise<void>;
}

export function testMemory(
  term: Term,
  { isRestored, acknowledgedUpTo, unledSeconds }: IntakeStart,
  { database, onForgotten }: IntakeDependencies,
): Memory {
  let tellingUpTo = isRestored ? 0 : acknowledgedUpTo;
  let noting: Promise<void> | null = null;
  async function note(): Promise<void> {
    if (tellingUpTo === 0) return;
    await raiseSequenceFloor(database, term, unledSeconds);
    tellingUpTo = 0;
    onForgotten();
  }
  return {
    get tellingUpTo() {
      return tellingUpTo;
    },
    noteForgotten() {
      noting ??= note().finally(() => {
        noting = null;
      });
      return noting;
    },
  };
}
