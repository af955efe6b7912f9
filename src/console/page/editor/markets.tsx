/** The median prices of the first chosen towns or departments, for the chosen transaction and types. */

import { useAnswer } from '../answer.ts';
import type { MarketDocument } from '../documents.ts';
import { useModel } from '../model-context.ts';
import { Refusal } from '../rest.ts';
import { useWords } from '../words/language.ts';
import type { Draft } from './draft.ts';

/** A search may name many places. */
const SHOWN_MAX = 4;

export function Markets({ draft }: { readonly draft: Draft }) {
  const words = useWords();
  const { rest } = useModel();
  const queries = queriesOf(draft);
  const { value } = useAnswer(
    (signal) =>
      Promise.all(
        queries.map(async (query) => {
          const market = await rest.read<MarketDocument>('/markets', query, signal).catch(nullIfUnknown);
          return market && { ...market, type: words.propertyTypes[Number(query.propertyType)] ?? '' };
        }),
      ),
    [JSON.stringify(queries)],
  );
  const lines = (value ?? []).map(
    (market) =>
      market && words.market(market.type, market.name, words.euros(market.median), words.number(market.count)),
  );
  // Two small communes may share the market of their department.
  return [...new Set(lines)].map((line) => line && <p class="hint">{line}</p>);
}

function queriesOf({ transactionType, propertyTypes, includedCities, includedDepartments }: Draft) {
  if (transactionType === '') return [];
  const places = [
    ...includedCities.map(({ value: city }) => ({ city })),
    ...includedDepartments.map(({ value: department }) => ({ department })),
  ];
  const kinds = propertyTypes.map((propertyType) => ({ transactionType, propertyType }));
  return places.flatMap((place) => kinds.map((kind) => ({ ...place, ...kind }))).slice(0, SHOWN_MAX);
}

function nullIfUnknown(error: unknown): null {
  if (error instanceof Refusal && error.status === 404) return null;
  throw error;
}
