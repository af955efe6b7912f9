/** What a snapshot brought: counts, and what was not understood, the losses of values by kind. */

import { eachKnown, type FeedContent, type Loss } from './feed-row.ts';

const COUNTS = { adverts: 0, new: 0, changed: 0, republished: 0, unchanged: 0, gone: 0, notUnderstood: 0 };
export type SnapshotCounts = { readonly [count in keyof typeof COUNTS]: number };

export interface SnapshotOutcome {
  readonly counts: SnapshotCounts;
  /** The first rows with errors, a sentence each. */
  readonly complaints: readonly string[];
  /** What is unusual about the snapshot, and the values that were left out, a sentence for each kind. */
  readonly notices: readonly string[];
  /** Members that many adverts have lost. */
  readonly warnings: readonly string[];
  /** The number of values that were left out, by member. */
  readonly lost: Readonly<Record<string, number>>;
  /** The first of those that expire. */
  readonly gone: readonly string[];
}

export const TOLD_MAX = 50;
/** Of the adverts that were there before. */
const LOSING_SHARE_MAX = 0.1;
/** More than half of the adverts, and as many, may not change their price by more than a fifth: references were reused. */
const JUMPS_REFUSED_FROM = 3;

export type Tally = ReturnType<typeof createTally>;

export function createTally() {
  const counts: { -readonly [count in keyof SnapshotCounts]: number } = { ...COUNTS };
  const complaints: string[] = [];
  const notices: string[] = [];
  const leftOut = new Map<string, { readonly line: number; count: number }>();
  const missed = new Map<string, number>();
  const losses = createLosses();
  /** By agency; those of the whole source under the empty name. */
  const jumps = new Map<string, { readonly of: number; readonly count: number }>();
  let returned = 0;
  return {
    counts,
    rows: 0,
    nameless: 0,
    complain(line: number, reference: string | null, reason: string) {
      counts.notUnderstood += 1;
      if (complaints.length < TOLD_MAX)
        complaints.push(`line ${line}${reference === null ? '' : `, ${reference}`}: ${reason}`);
    },
    notice: (text: string): void => void notices.push(text),
    leaveOut(line: number, reason: string) {
      const kind = leftOut.get(reason) ?? { line, count: 0 };
      leftOut.set(reason, { ...kind, count: kind.count + 1 });
    },
    lose: losses.add,
    state: losses.state,
    /** `before`, `now`: what an advert of the agency had, and has. */
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
    /** Of most adverts of the source, or of an agency in it; null: there are none. */
    priceJumps(): string | null {
      const found = [...jumps].find(([, { of, count }]) => count >= JUMPS_REFUSED_FROM && count * 2 > of);
      if (found === undefined) return null;
      const [agency, { of, count }] = found;
      return `${count} of ${of} adverts${agency && ` of the agency ${agency}`} change their price by more than a fifth at once`;
    },
    /** Of a file with nothing else. */
    firstComplaint: (): string | undefined => complaints[0],
    outcome(): Omit<SnapshotOutcome, 'gone'> {
      const left = [...leftOut].map(
        ([reason, { line, count }]) => `${count} left out: ${reason} (first: line ${line})`,
      );
      const losing = [...missed].filter(([, count]) => count > returned * LOSING_SHARE_MAX);
      const warnings = losing.map(([member, count]) => `${count} of ${returned} adverts have lost ${member}`);
      const { sentences, lost } = losses.outcome();
      return { counts, complaints, notices: [...notices, ...left, ...sentences], warnings, lost };
    },
  };
}

interface Compared {
  readonly members: string;
  readonly price: number | null;
}

/** Values that were left out, by member and fault. */
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
    /** Returns the names of the known members, joined by blanks. */
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
        return `${member}: ${count} of ${all} ${count === 1 ? 'is' : 'are'} ${fault} (first: line ${line}, ${value})`;
      });
      return { sentences, lost: Object.fromEntries(lost) };
    },
  };
}

function increase(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}
