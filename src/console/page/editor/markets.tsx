/** The median prices of the chosen places and types, as soon as place, transaction and type are chosen. */

import { useAnswer } from '../answer.ts';
import type { MarketDocument } from '../documents.ts';
import { useModel } from '../model-context.ts';
import { type Query, Refusal, type Rest } from '../rest.ts';
import { useWords } from '../words/language.ts';
import type { Draft } from './draft.ts';

/** A search may name many places. */
const SHOWN_MAX = 4;

export function Markets({ draft }: { readonly draft: Draft }) {
  const words = useWords();
  const { rest } = useModel();
  const queries = queriesOf(draft);
  const { value } = useAnswer(
    async (signal) =>
      Promise.all(queries.map(async (query) => ({ query, market: await readMarket(rest, query, signal) }))),
    [JSON.stringify(queries)],
  );
  const lines = (value ?? []).flatMap(({ query, market }) => {
    if (market === null) return [];
    const type = words.propertyTypes[Number(query.propertyType)] ?? '';
    return words.market(type, market.name, words.euros(market.median), words.number(market.count));
  });
  // Two small communes may share the market of their department.
  return [...new Set(lines)].map((line) => (
    <p key={line} class="hint">
      {line}
    </p>
  ));
}

function queriesOf({ transactionType, propertyTypes, includedCities, includedDepartments }: Draft): readonly Query[] {
  if (transactionType === '') return [];
  const places: readonly Query[] = [
    ...includedCities.map(({ value: city }) => ({ city })),
    ...includedDepartments.map(({ value: department }) => ({ department })),
  ];
  const queries = places.flatMap((place) =>
    propertyTypes.map((propertyType) => ({ ...place, transactionType, propertyType })),
  );
  return queries.slice(0, SHOWN_MAX);
}

/** Null if too few prices are known. */
async function readMarket(rest: Rest, query: Query, signal: AbortSignal): Promise<MarketDocument | null> {
  try {
    return await rest.read<MarketDocument>('/markets', query, signal);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  }
}
