/**
 * The live properties that satisfy a search now, notified or not (decisions, section 7). All candidates are evaluated
 * when there are not too many; otherwise those that changed last, never a sample: the result includes a property of a
 * minute ago.
 */

import { hasAreas } from '../../engine/domain/areas.ts';
import type { Criteria } from '../../engine/domain/criteria.ts';
import type { Expressions } from '../../engine/domain/expressions.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { PropertySummary } from '../../engine/domain/property-summary.ts';
import { readChangeTimes } from '../../engine/store/properties.ts';
import { evaluateCandidates, type QueryTools, satisfiedSince } from './examination.ts';
import { compareTexts } from './preview-figures.ts';
import { type Scan, scanAreas, scanChanged, scanSample } from './property-scans.ts';

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
}

/** As they are answered. */
export interface ListedProperties extends Omit<FoundProperties, 'page'> {
  readonly page: readonly ListedProperty[];
  /** The search hides contacts. */
  readonly hidePropertyContact: boolean;
}

export interface ListedProperty {
  readonly uuid: Uuid;
  readonly satisfiedSince: string;
  /** Null: the pair was never notified. */
  readonly matchId: Uuid | null;
}

interface Found {
  readonly uuid: Uuid;
  readonly summary: PropertySummary;
}

/** Properties whose texts are read for one answer. */
const TEXTS_MAX = 10_000;

export async function foundProperties(query: FoundQuery, tools: QueryTools): Promise<FoundProperties> {
  const criteria = { ...query.criteria, expressions: withWords(query.criteria.expressions, query.text) };
  const { database, median } = tools;
  const { scan, isWhole } = await (hasAreas(criteria.areas) ? scanAreas : scanSample)(tools, criteria, 0);
  const all = isWhole ? await find(scan, criteria, tools) : null;
  const isExact = all?.isComplete === true;
  const { found } = all !== null && isExact ? all : await find(scanChanged(database), criteria, tools);
  const ordered = await inOrder(found, query, tools);
  return {
    page: ordered.slice(query.offset, query.offset + query.limit).map(({ uuid, summary }) => {
      return { uuid, satisfiedSince: satisfiedSince(criteria, summary, median).at };
    }),
    total: found.length,
    estimated: !isExact,
  };
}

async function find(scan: Scan, criteria: Criteria, tools: QueryTools) {
  const found: Found[] = [];
  const { isComplete } = await evaluateCandidates(
    scan,
    criteria,
    tools,
    ({ uuid, summary, failures }) => {
      if (failures.length === 0) found.push({ uuid, summary });
    },
    TEXTS_MAX,
  );
  return { found, isComplete };
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
  const changeTimes = by === 'updatedAt' ? await changeTimesOf(found, tools) : null;
  const valueOf = ({ uuid, summary }: Found): number | null =>
    by === 'updatedAt' ? (changeTimes?.get(uuid) ?? null) : summary.facts[by];
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

const TIMES_AT_ONCE = 1_000;

async function changeTimesOf(found: readonly Found[], { database }: QueryTools): Promise<ReadonlyMap<Uuid, number>> {
  const times = new Map<Uuid, number>();
  for (let from = 0; from < found.length; from += TIMES_AT_ONCE) {
    const uuids = found.slice(from, from + TIMES_AT_ONCE).map(({ uuid }) => uuid);
    for (const [uuid, atMs] of await readChangeTimes(database, uuids)) times.set(uuid, atMs);
  }
  return times;
}
