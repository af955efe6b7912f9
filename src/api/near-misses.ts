/** `/searches/{id}/near-misses` (decisions, section 11): live properties that fail by one criterion, and by how much. */

import type Router from '@koa/router';
import { type Courtesy, createCourtesy } from '../actor/precedence.ts';
import { createWorkSlices, sortedInSlices } from '../actor/work-slices.ts';
import { boxesOf, grown } from '../domain/area-boxes.ts';
import { hasAreas } from '../domain/areas.ts';
import { type Criteria, type Judgement, judge, relativeDistance, withoutCriterion } from '../domain/criteria.ts';
import type { Uuid } from '../domain/ids.ts';
import type { MedianOf } from '../domain/property-digest.ts';
import { propertyIri } from '../domain/property-document.ts';
import { criteriaOf } from '../domain/search.ts';
import type { Database } from '../store/database.ts';
import { type Scan, scanAreas, scanBoxes, scanSample } from '../store/property-scans.ts';
import { readCrawls } from '../store/property-texts.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { type ExaminedProperty, examine } from './examination.ts';
import { shortValues } from './explanation-document.ts';
import { collection, offsetOf } from './hydra.ts';
import { compare } from './preview-figures.ts';
import { numberParameter, PAGING, readQuery } from './query.ts';
import type { Questions } from './questions.ts';
import { ownSearch } from './searches.ts';

const DAY_MS = 86_400_000;
const DAYS = 7;

export const NEAR_MISS_PARAMETERS = {
  days: numberParameter('Days within which the property was seen.', { min: 1, max: 90, isInteger: true }, DAYS),
  ...PAGING,
} as const;

export function nearMissRoutes(router: Router, dependencies: ApiDependencies, questions: Questions): void {
  router.get('/searches/:id/near-misses', acceptable, async (ctx) => {
    const query = readQuery(ctx, NEAR_MISS_PARAMETERS);
    const since = new Date(dependencies.now().getTime() - query.days * DAY_MS).toISOString();
    const misses = await questions.answering(ctx, async () => {
      const search = await ownSearch(ctx, questions);
      const [median, siteCategoryName] = await Promise.all([questions.medians(), questions.siteCategoryName()]);
      const tools = { database: questions.database, median };
      return nearMisses(criteriaOf(search.members, siteCategoryName), since, tools);
    });
    const { offset, limit } = offsetOf(query);
    const members = misses.slice(offset, offset + limit).map(nearMissDocument);
    const page = { context: 'NearMiss', members, totalItems: misses.length, paging: query };
    answer(ctx, collection(ctx, { ...page, parameters: NEAR_MISS_PARAMETERS }));
  });
}

export interface NearMiss {
  readonly uuid: Uuid;
  readonly judgement: Judgement;
  readonly distance: number | null;
}

export function nearMissDocument({ uuid, judgement, distance }: NearMiss): object {
  return {
    '@context': '/contexts/NearMiss',
    '@id': propertyIri(uuid),
    '@type': 'NearMiss',
    property: propertyIri(uuid),
    criterion: judgement.criterion,
    ...shortValues(judgement),
    distance,
  };
}

/** As many as are listed. */
const MISSES_MAX = 10_000;

interface Tools {
  readonly database: Database;
  readonly median: MedianOf;
}

interface Found extends NearMiss {
  readonly advertUuids: readonly Uuid[];
}

/** Seen since `since` (ISO 8601), the nearest first; those without a measure last. */
export async function nearMisses(
  criteria: Criteria,
  since: string,
  { database, median }: Tools,
): Promise<readonly NearMiss[]> {
  const found = new Map<Uuid, Found>();
  const take = ({ uuid, digest, facts, failures }: ExaminedProperty): void => {
    if (failures.length !== 1) return;
    const judgement = judge(criteria, facts).find(({ holds }) => !holds);
    if (judgement === undefined) return;
    const distance = relativeDistance(judgement);
    found.set(uuid, { uuid, judgement, distance, advertUuids: digest.adverts.map((advert) => advert.uuid) });
  };
  const courtesy = createCourtesy();
  const examining = { median, courtesy };
  for (const scan of await scansOf(criteria, database)) await examine(scan, criteria, examining, take);
  const nearest = await sortedInSlices([...found.values()], byDistance, createWorkSlices({ courtesy }));
  return seenSince(nearest.slice(0, MISSES_MAX), since, database, courtesy);
}

/** Two without a measure are as far as each other. */
function byDistance(a: Found, b: Found): number {
  const [near, far] = [a.distance ?? Infinity, b.distance ?? Infinity];
  return near === far ? compare(a.uuid, b.uuid) : near - far;
}

/**
 * A search that names a place: what is there, and what would do if it were there. That is looked for among all properties
 * while there are few, then nearby, or in a sample where there is no nearby.
 */
async function scansOf(criteria: Criteria, database: Database): Promise<readonly Scan[]> {
  if (!hasAreas(criteria.areas)) return [(await scanSample(database, criteria, 1)).scan];
  const wider = withoutCriterion(criteria, 'areas');
  const there = scanAreas(database, criteria, 1);
  const anywhere = await scanSample(database, wider, 0);
  const boxes = boxesOf(criteria.areas);
  if (anywhere.isWhole || boxes.length === 0) return [there, anywhere.scan];
  return [there, scanBoxes(database, wider, 0, boxes.flatMap(grown))];
}

const CRAWLS_PER_BLOCK = 500;

async function seenSince(
  misses: readonly Found[],
  since: string,
  database: Database,
  courtesy: Courtesy,
): Promise<readonly NearMiss[]> {
  const seen: NearMiss[] = [];
  for (let from = 0; from < misses.length; from += CRAWLS_PER_BLOCK) {
    const block = misses.slice(from, from + CRAWLS_PER_BLOCK);
    await courtesy.stepAside();
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
