/**
 * The live properties that satisfy a search now, notified or not (decisions, section 7). All candidates are evaluated
 * when there are not too many; otherwise those that changed last, never a sample: the result includes a property of a
 * minute ago, and a sample only says how many there may be besides.
 */

import { hasAreas } from '../../engine/domain/areas.ts';
import type { Criteria } from '../../engine/domain/criteria.ts';
import type { Expressions } from '../../engine/domain/expressions.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { readChangeTimes } from '../../engine/store/properties.ts';
import { evaluateCandidates, type QueryTools, satisfiedSince } from './examination.ts';
import { compareTexts, countSatisfied } from './preview-figures.ts';
import { type CandidateScan, type Scan, scanAnywhere, scanAreas, scanChanged } from './property-scans.ts';

export const FOUND_ORDERS = ['updatedAt', 'price', 'surface', 'pricePerMeter'] as const;

export interface FoundOrder {
  readonly by: (typeof FOUND_ORDERS)[number];
  readonly direction: 'asc' | 'desc';
}

export interface FoundQuery extends FoundOrder {
  readonly criteria: Criteria;
  /** Words that the texts must contain, each in one of its forms; null for any. */
  readonly text: string | null;
  readonly offset: number;
  readonly limit: number;
}

export interface FoundProperties {
  readonly page: readonly { readonly uuid: Uuid; readonly satisfiedSince: string }[];
  readonly total: number;
  /** True: only the properties that changed last. */
  readonly estimated: boolean;
  /** How many more there may be, with a confidence of 95 %. */
  readonly margin: number;
}

/** As they are answered. */
export interface ListedProperties extends Omit<FoundProperties, 'page'> {
  readonly page: readonly ListedProperty[];
  /** The search hides contacts. */
  readonly hidePropertyContact: boolean;
}

/** `matchId`: null when the pair was never notified. */
export type ListedProperty = FoundProperties['page'][number] & { readonly matchId: Uuid | null };

interface Found {
  readonly uuid: Uuid;
  readonly satisfiedSince: string;
  readonly values: Pick<PropertyFacts, 'price' | 'surface' | 'pricePerMeter'>;
}

export async function foundProperties(query: FoundQuery, tools: QueryTools): Promise<FoundProperties> {
  const criteria = { ...query.criteria, expressions: withWords(query.criteria.expressions, query.text) };
  const candidates = await (hasAreas(criteria.areas) ? scanAreas : scanAnywhere)(tools, criteria, 0);
  const found = await find(candidates.isWhole ? candidates.scan : scanChanged(tools, criteria), criteria, tools);
  const ordered = await inOrder(found, query, tools);
  return {
    page: ordered.slice(query.offset, query.offset + query.limit),
    total: found.length,
    estimated: !candidates.isWhole,
    margin: candidates.isWhole ? 0 : await countOthers(found.length, candidates, criteria, tools),
  };
}

async function find(scan: Scan, criteria: Criteria, tools: QueryTools): Promise<readonly Found[]> {
  const found: Found[] = [];
  await evaluateCandidates(scan, criteria, tools, ({ uuid, summary, failures }) => {
    if (failures.length > 0) return;
    const { price, surface, pricePerMeter } = summary.facts;
    const since = satisfiedSince(criteria, summary, tools.median);
    found.push({ uuid, satisfiedSince: since, values: { price, surface, pricePerMeter } });
  });
  return found;
}

/** At most, with a confidence of 95 %. */
async function countOthers(
  foundCount: number,
  candidates: CandidateScan,
  criteria: Criteria,
  tools: QueryTools,
): Promise<number> {
  const { satisfiedNow, margin } = await countSatisfied(candidates, criteria, tools);
  return Math.max(0, satisfiedNow + margin - foundCount);
}

/** Every alternative must contain them too. */
function withWords(expressions: Expressions, text: string | null): Expressions {
  const words = (text ?? '').split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length === 0) return expressions;
  const entries = words.map((word) => ({ word, includes: true, strict: false }));
  const alternatives = expressions.length === 0 ? [[]] : expressions;
  return alternatives.map((group) => [...group, ...entries]);
}

/** Unknown values last; equal ones in the order of their UUIDs, so that pages neither repeat nor skip any. */
async function inOrder(found: readonly Found[], { by, direction }: FoundOrder, tools: QueryTools): Promise<Found[]> {
  const uuids = by === 'updatedAt' ? found.map(({ uuid }) => uuid) : [];
  const changeTimes = new Map(await readChangeTimes(tools.database, uuids));
  const valueOf = ({ uuid, values }: Found): number | null =>
    by === 'updatedAt' ? (changeTimes.get(uuid) ?? null) : values[by];
  const sign = direction === 'asc' ? 1 : -1;
  return found
    .map((one) => ({ one, value: valueOf(one) }))
    .sort((a, b) => {
      if (a.value === b.value) return compareTexts(a.one.uuid, b.one.uuid);
      if (a.value === null || b.value === null) return a.value === null ? 1 : -1;
      return sign * (a.value - b.value);
    })
    .map(({ one }) => one);
}
