/** Live properties that fail a search by one criterion, and by how much (decisions, section 11). */

import { boxesOf, grown } from '../../engine/domain/area-boxes.ts';
import { hasAreas } from '../../engine/domain/areas.ts';
import {
  type Criteria,
  type Judgement,
  judge,
  relativeDistance,
  withoutCriterion,
} from '../../engine/domain/criteria.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { type ExaminedProperty, evaluateCandidates, type QueryTools } from './examination.ts';
import { compareTexts } from './preview-figures.ts';
import { readCrawls, type Scan, scanAreas, scanBoxes, scanSample } from './property-scans.ts';

/** Where it is in the list. */
export interface NearMissPlace {
  readonly uuid: Uuid;
  readonly distance: number | null;
}

/** As it is answered. */
export interface NearMiss extends NearMissPlace {
  readonly criterion: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

export interface JudgedMiss extends NearMissPlace {
  readonly judgement: Judgement;
}

/** As many as are listed. */
const MISSES_MAX = 10_000;

interface Found extends JudgedMiss {
  readonly advertUuids: readonly Uuid[];
}

/** Seen since `since` (ISO 8601), the nearest first; those without a measure last. */
export async function nearMisses(criteria: Criteria, since: string, tools: QueryTools): Promise<readonly JudgedMiss[]> {
  const found = new Map<Uuid, Found>();
  const take = ({ uuid, summary, facts, failures }: ExaminedProperty): void => {
    if (failures.length !== 1) return;
    const judgement = judge(criteria, facts).find(({ holds }) => !holds);
    if (judgement === undefined) return;
    const distance = relativeDistance(judgement);
    found.set(uuid, { uuid, judgement, distance, advertUuids: summary.adverts.map((advert) => advert.uuid) });
  };
  for (const scan of await scansOf(criteria, tools)) await evaluateCandidates(scan, criteria, tools, take);
  return seenSince([...found.values()].sort(compareMisses).slice(0, MISSES_MAX), since, tools.database);
}

/** By distance, and by UUID where that is equal: two without a measure are equally far. */
export function compareMisses(a: NearMissPlace, b: NearMissPlace): number {
  const [near, far] = [a.distance ?? Infinity, b.distance ?? Infinity];
  return near === far ? compareTexts(a.uuid, b.uuid) : near - far;
}

/**
 * For a search that names a place: what is there, and what would satisfy it if it were there. The latter is searched
 * among all properties while there are few, otherwise nearby, or in a sample where there is no nearby.
 */
async function scansOf(criteria: Criteria, tools: QueryTools): Promise<readonly Scan[]> {
  if (!hasAreas(criteria.areas)) return [(await scanSample(tools, criteria, 1)).scan];
  const wider = withoutCriterion(criteria, 'areas');
  const there = (await scanAreas(tools, criteria, 1)).scan;
  const anywhere = await scanSample(tools, wider, 0);
  const boxes = boxesOf(criteria.areas);
  if (anywhere.isWhole || boxes.length === 0) return [there, anywhere.scan];
  return [there, (await scanBoxes(tools, wider, 0, boxes.flatMap(grown))).scan];
}

const CRAWLS_PER_BLOCK = 500;

async function seenSince(misses: readonly Found[], since: string, database: Queryable): Promise<readonly JudgedMiss[]> {
  const seen: JudgedMiss[] = [];
  for (let from = 0; from < misses.length; from += CRAWLS_PER_BLOCK) {
    const block = misses.slice(from, from + CRAWLS_PER_BLOCK);
    const crawls = await readCrawls(
      database,
      block.map(({ uuid }) => uuid),
    );
    for (const miss of block) {
      const ofAdverts = crawls.get(miss.uuid) ?? {};
      if (miss.advertUuids.some((advert) => (ofAdverts[advert]?.[0] ?? '') >= since)) seen.push(miss);
    }
  }
  return seen;
}
