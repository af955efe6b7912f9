/** Prints the benchmark's findings. */

import type { SearchIndexStats } from '../../src/engine/matching/search-index.ts';
import type { Churn, Updates } from './churn.ts';
import type { HostileFinding } from './hostile.ts';
import type { Latencies } from './latency.ts';
import type { PointsReport } from './points.ts';

export interface Section {
  readonly name: string;
  readonly ours: Latencies;
  readonly plain: Latencies | null;
  readonly scan: Latencies | null;
  readonly mismatches: number;
}

export interface Report {
  readonly name: string;
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

export function printReport({ name, searchCount, seed, sections, churned, total, stats }: Report): void {
  const searches = `${searchCount.toLocaleString('en')} searches`;
  console.log(`${name}: ${searches}, seed ${seed}, Node ${process.version}\n`);
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
      const { best } = latencies;
      console.log(line('    best of 5', ...[best.meanUs, best.p50Us, best.p99Us, best.maxUs].map(short)));
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

export function printHostile(findings: readonly HostileFinding[]): void {
  console.log(
    `\n${'hostile searches alone, µs per advert'.padEnd(40)}${['mean', 'p99', 'mismatches'].map(cell).join('')}`,
  );
  for (const { name, latencies, mismatches } of findings) {
    const cells = [short(latencies.meanUs), short(latencies.p99Us), String(mismatches)];
    console.log(name.padEnd(40) + cells.map(cell).join(''));
  }
}

export function printPoints({ pointCount, buildSeconds, longestHoldMs, findings }: PointsReport): void {
  const hold = `the event loop was blocked for ${longestHoldMs.toFixed(1)} ms at most`;
  console.log(
    `\n${pointCount.toLocaleString('en')} points of interest: index built in ${buildSeconds.toFixed(2)} s, ${hold}`,
  );
  console.log(line('µs per query', 'facilities', 'found', 'mean', 'p99', 'geokdbush', 'its p99', 'mismatches'));
  for (const { radiusKm, facilities, found, ours, geokdbush, mismatches } of findings) {
    const times = [ours.meanUs, ours.p99Us, geokdbush.meanUs, geokdbush.p99Us].map(short);
    console.log(line(`  ${radiusKm} km`, String(facilities), short(found), ...times, String(mismatches)));
  }
}

function short(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

function line(head: string, ...cells: readonly string[]): string {
  return head.padEnd(16) + cells.map(cell).join('');
}

function cell(text: string): string {
  return text.padStart(11);
}
