/**
 * The live properties that satisfy a search now, notified or not (decisions, section 7). All candidates are evaluated
 * if there are not too many. Otherwise only recently changed ones are, so that a property that changed a minute ago is
 * found. A sample then estimates the number of the others.
 */

import { allExpressions, type Criteria, satisfies } from '../../engine/domain/criteria.ts';
import { type Expressions, expressionsHold } from '../../engine/domain/expressions.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { factsOf, readSummary } from '../../engine/domain/property-summary.ts';
import { foldTexts } from '../../engine/domain/word-phrases.ts';
import { readChangeTimes } from '../../engine/store/properties.ts';
import type { MarkState } from '../../engine/store/search-marks.ts';
import { evaluateCandidates, type QueryTools, satisfiedSince, textsOf, withTexts } from './examination.ts';
import type { FoundPair } from './pair-rows.ts';
import { compareTexts, countSatisfied } from './preview-figures.ts';
import { namesAreas, type Scan, type ScannedProperty, scanAnywhere, scanAreas, scanChanged } from './property-scans.ts';

export const FOUND_ORDERS = ['updatedAt', 'price', 'surface', 'pricePerMeter'] as const;

export interface FoundOrder {
  readonly by: (typeof FOUND_ORDERS)[number];
  readonly direction: 'asc' | 'desc';
}

/** Parameters of a client's request. */
export interface AskedProperties extends FoundOrder {
  /** Lists the properties with this mark, satisfying or not; null: those that satisfy the search and are not hidden. */
  readonly mark: MarkState | null;
  /** Words that the texts must contain, each in any of its forms; null for no condition. */
  readonly text: string | null;
  readonly offset: number;
  readonly limit: number;
}

export interface FoundQuery extends AskedProperties {
  readonly criteria: Criteria;
  /** Properties with the requested mark; if no mark was requested, the hidden ones. */
  readonly marked: readonly ScannedProperty[];
}

export interface FoundProperties {
  /** `satisfiedSince`: null if the property does not satisfy the search. */
  readonly page: readonly { readonly uuid: Uuid; readonly satisfiedSince: string | null }[];
  readonly total: number;
  /** True if only recently changed properties were evaluated. */
  readonly estimated: boolean;
  /** Upper limit of further properties, with a confidence of 95 %. */
  readonly margin: number;
}

/** A page of the response. */
export interface ListedProperties extends Omit<FoundProperties, 'page'> {
  readonly page: readonly ListedProperty[];
  /** True if the search hides contacts. */
  readonly hidePropertyContact: boolean;
}

export type ListedProperty = FoundProperties['page'][number] & FoundPair;

type Found = FoundProperties['page'][number] & {
  readonly values: Pick<PropertyFacts, 'price' | 'surface' | 'pricePerMeter'>;
};

export async function foundProperties(query: FoundQuery, tools: QueryTools): Promise<FoundProperties> {
  if (query.mark !== null) {
    const marked = await inOrder(await findMarked(query, tools), query, tools);
    const page = marked.slice(query.offset, query.offset + query.limit);
    return { page, total: marked.length, estimated: false, margin: 0 };
  }
  const criteria = { ...query.criteria, expressions: withWords(query.criteria.expressions, query.text) };
  const hidden = new Set(query.marked.map(({ uuid }) => uuid));
  const candidates = await (namesAreas(criteria) ? scanAreas : scanAnywhere)(tools, criteria, 0);
  const all = await find(candidates.isWhole ? candidates.scan : scanChanged(tools, criteria), criteria, tools);
  const found = all.filter(({ uuid }) => !hidden.has(uuid));
  const ordered = await inOrder(found, query, tools);
  const page = ordered.slice(query.offset, query.offset + query.limit);
  if (candidates.isWhole) return { page, total: found.length, estimated: false, margin: 0 };
  const { satisfiedNow, margin } = await countSatisfied(candidates, criteria, tools);
  return { page, total: found.length, estimated: true, margin: Math.max(0, satisfiedNow + margin - all.length) };
}

async function find(scan: Scan, criteria: Criteria, tools: QueryTools): Promise<readonly Found[]> {
  const found: Found[] = [];
  await evaluateCandidates(scan, criteria, tools, ({ uuid, summary, facts, failures }) => {
    if (failures.length > 0) return;
    const { price, surface, pricePerMeter } = summary.facts;
    const since = satisfiedSince(criteria, { summary, facts }, tools.medians);
    found.push({ uuid, satisfiedSince: since, values: { price, surface, pricePerMeter } });
  });
  return found;
}

/** The marked properties that contain the words. */
async function findMarked({ criteria, text, marked }: FoundQuery, tools: QueryTools): Promise<readonly Found[]> {
  const words = withWords([], text);
  const hasTexts = words.length + allExpressions(criteria).length > 0;
  const found: Found[] = [];
  for await (const [{ uuid, facts: packed }, adverts] of withTexts(marked, tools, hasTexts)) {
    const summary = readSummary(packed);
    const texts = textsOf(summary, adverts);
    const facts = factsOf(summary, tools.medians, texts);
    const { price, surface, pricePerMeter } = facts;
    const since = satisfies(criteria, facts) ? satisfiedSince(criteria, { summary, facts }, tools.medians) : null;
    if (expressionsHold(words, foldTexts([...texts.own, ...[...texts.byAdvert.values()].flat()])))
      found.push({ uuid, satisfiedSince: since, values: { price, surface, pricePerMeter } });
  }
  return found;
}

/** Adds the words to each group of entries, because a text satisfies the expressions if it satisfies one group. */
function withWords(expressions: Expressions, text: string | null): Expressions {
  const words = (text ?? '').split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length === 0) return expressions;
  const entries = words.map((word) => ({ word, includes: true, strict: false }));
  const alternatives = expressions.length === 0 ? [[]] : expressions;
  return alternatives.map((group) => [...group, ...entries]);
}

/** Unknown values are last. Equal values are ordered by UUID, so that pages neither repeat nor skip a property. */
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
