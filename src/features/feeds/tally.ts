/** The counts of a snapshot, its invalid rows, and the lost values by kind. */

import { eachKnown, type FeedContent, type Loss } from './feed-row.ts';

const COUNTS = { adverts: 0, new: 0, changed: 0, republished: 0, unchanged: 0, gone: 0, notUnderstood: 0 };
export type SnapshotCounts = { readonly [count in keyof typeof COUNTS]: number };

export interface SnapshotOutcome {
  readonly counts: SnapshotCounts;
  /** The first rows with errors, one sentence each. */
  readonly complaints: readonly string[];
  /** Unusual facts about the snapshot, and the values that were left out: one sentence per kind. */
  readonly notices: readonly string[];
  /** Members that many adverts have lost. */
  readonly warnings: readonly string[];
  /** Number of values that were left out, by member. */
  readonly lost: Readonly<Record<string, number>>;
  /** The first adverts that expire. */
  readonly gone: readonly string[];
}

export const TOLD_MAX = 50;
/** If a larger share of the previously known adverts lose a member, there is a warning. */
const LOSING_SHARE_MAX = 0.1;
/** At least this many price changes of over a fifth, in over half of the adverts, are a sign of reused references. */
const JUMPS_REFUSED_FROM = 3;

export type Tally = ReturnType<typeof createTally>;

export function createTally() {
  const counts: { -readonly [count in keyof SnapshotCounts]: number } = { ...COUNTS };
  const complaints: string[] = [];
  const notices: string[] = [];
  const leftOut = new Map<string, { readonly line: number; count: number }>();
  const missed = new Map<string, number>();
  const losses = createLosses();
  /** Counts by agency; the empty name has those of the whole source. */
  const jumps = new Map<string, { readonly of: number; readonly count: number }>();
  let returned = 0;
  return {
    counts,
    rows: 0,
    nameless: 0,
    complain(line: number, reference: string | null, reason: string) {
      counts.notUnderstood += 1;
      if (complaints.length < TOLD_MAX)
        complaints.push(`Line ${line}${reference === null ? '' : `, ${reference}`}: ${reason}.`);
    },
    notice: (text: string): void => void notices.push(text),
    leaveOut(line: number, reason: string) {
      const kind = leftOut.get(reason) ?? { line, count: 0 };
      leftOut.set(reason, { ...kind, count: kind.count + 1 });
    },
    lose: losses.add,
    state: losses.state,
    /** `before`, `now`: an advert as it was last published, and as it is in this snapshot. */
    compare(before: Compared, now: Compared, agency: string) {
      returned += 1;
      const isJump =
        before.price !== null && now.price !== null && Math.abs(now.price - before.price) * 5 > before.price;
      for (const name of new Set(['', agency])) {
        const { of, count } = jumps.get(name) ?? { of: 0, count: 0 };
        jumps.set(name, { of: of + 1, count: isJump ? count + 1 : count });
      }
      if (before.members === now.members) return;
      const known = new Set(now.members.split(' '));
      for (const member of before.members.split(' ')) if (member !== '' && !known.has(member)) increase(missed, member);
    },
    /** A sentence if most adverts of the source or an agency, at least three, change their price by over a fifth. */
    priceJumps(): string | null {
      const found = [...jumps].find(([, { of, count }]) => count >= JUMPS_REFUSED_FROM && count * 2 > of);
      if (found === undefined) return null;
      const [agency, { of, count }] = found;
      return `${count} of ${of} adverts${agency && ` of the agency ${agency}`} change their price by more than a fifth at once.`;
    },
    /** Explains a file in which no row was understood. */
    firstComplaint: (): string | undefined => complaints[0],
    outcome(): Omit<SnapshotOutcome, 'gone'> {
      const left = [...leftOut].map(
        ([reason, { line, count }]) => `Rows left out: ${count}, because ${reason} (first: line ${line}).`,
      );
      const losing = [...missed].filter(([, count]) => count > returned * LOSING_SHARE_MAX);
      const warnings = losing.map(([member, count]) => `${count} of ${returned} adverts have lost ${member}.`);
      const { sentences, lost } = losses.outcome();
      return { counts, complaints, notices: [...notices, ...left, ...sentences], warnings, lost };
    },
  };
}

interface Compared {
  readonly members: string;
  readonly price: number | null;
}

/** Counts values that were left out, by member and fault. */
function createLosses() {
  const stated = new Map<string, number>();
  const lost = new Map<string, number>();
  const kinds = new Map<string, { readonly loss: Loss; readonly line: number; count: number }>();
  return {
    add(loss: Loss, line: number) {
      increase(lost, loss.member);
      const name = `${loss.member} ${loss.fault}`;
      const kind = kinds.get(name) ?? { loss, line, count: 0 };
      kind.count += 1;
      if (kinds.size < TOLD_MAX) kinds.set(name, kind);
    },
    /** Returns the names of the known members, separated by spaces. */
    state(content: FeedContent): string {
      const names: string[] = [];
      eachKnown(content, (member, count) => {
        increase(stated, member, count);
        names.push(member);
      });
      return names.join(' ');
    },
    outcome() {
      const sentences = [...kinds.values()].map(({ loss: { member, fault, value }, line, count }) => {
        const all = (stated.get(member) ?? 0) + (lost.get(member) ?? 0);
        return `${count} of ${all} values of ${member} ${count === 1 ? 'is' : 'are'} ${fault} (first: line ${line}, ${value}).`;
      });
      return { sentences, lost: Object.fromEntries(lost) };
    },
  };
}

function increase(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}
