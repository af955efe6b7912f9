/** The benchmark's findings for a reader. */

import type { SearchIndexStats } from '../../src/matching/search-index.ts';
import type { Churn, Updates } from './churn.ts';
import type { Latencies } from './latency.ts';

export interface Section {
  readonly name: string;
  readonly ours: Latencies;
  readonly plain: Latencies | null;
  readonly scan: Latencies | null;
  readonly mismatches: number;
}

export interface Report {
  readonly searchCount: number;
  readonly seed: number;
  readonly sections: readonly Section[];
  readonly churned: Churn;
  readonly total: Pick<Updates, 'insertUs' | 'deleteUs' | 'longestStallMs'> & {
    readonly buildSeconds: number;
    readonly bytesPerSearch: number;
    readonly mismatches: number;
  };
  readonly stats: SearchIndexStats;
}

export function printReport({ searchCount, seed, sections, churned, total, stats }: Report): void {
  console.log(
    `${searchCount.toLocaleString('en')} searches, seed ${seed}, Node ${process.version}, ${stats.kernel} kernel\n`,
  );
  console.log(line('µs per advert', 'mean', 'p50', 'p99', 'max', 'matches', 'candidates', 'x mean', 'x p99'));
  for (const { name, ours, plain, scan, mismatches } of sections) {
    console.log(`${name} (${mismatches} mismatches)`);
    for (const [way, latencies] of [
      ['  ours', ours],
      ['  plain', plain],
      ['  scan', scan],
    ] as const) {
      if (latencies === null) continue;
      const { meanUs, p50Us, p99Us, maxUs, matchesPerAdvert, candidatesPerAdvert } = latencies;
      const figures = [meanUs, p50Us, p99Us, maxUs, matchesPerAdvert, candidatesPerAdvert].map(short);
      console.log(line(way, ...figures, short(meanUs / ours.meanUs), short(p99Us / ours.p99Us)));
    }
  }
  const { matches } = churned;
  console.log(`during ${churned.updates} updates at 1,000/s`);
  console.log(line('  ours', ...[matches.meanUs, matches.p50Us, matches.p99Us, matches.maxUs].map(short)));
  console.log(`
bytes per search  ${short(total.bytesPerSearch)} (RSS)
build             ${total.buildSeconds.toFixed(2)} s
insert, delete    ${total.insertUs.toFixed(2)} µs, ${total.deleteUs.toFixed(2)} µs
longest stall     ${total.longestStallMs.toFixed(2)} ms
mismatches        ${total.mismatches}
index             ${JSON.stringify(stats)}`);
}

function short(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

function line(head: string, ...cells: readonly string[]): string {
  return head.padEnd(16) + cells.map((cell) => cell.padStart(11)).join('');
}
