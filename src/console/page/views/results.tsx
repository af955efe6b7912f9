/**
 * Properties as a list, with the price first and one row for all searches that found a property. Scrolling to the end
 * reads more. A button shows new properties, so that no row moves under the pointer.
 */

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useMutation } from '../answer.ts';
import { SearchInput, Select } from '../controls.tsx';
import { Problem } from '../elements.tsx';
import { type Filters, filters, RESULT_ORDERS, type ResultOrder } from '../filters.ts';
import type { FoundList } from '../found.ts';
import { kindOf } from '../map/pin-painter.ts';
import type { SearchTable } from '../model.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { type Pin, panelIdOf } from '../pins.ts';
import { hrefOf } from '../route.ts';
import { safeLink } from '../safe-link.ts';
import { SETTINGS } from '../session.ts';
import { useWords } from '../words/language.ts';
import { Chunks, watchNear } from './chunks.tsx';
import { downloadCsv } from './result-csv.ts';

interface Result {
  readonly pin: Pin;
  /** IRIs of the searches that found the property. */
  readonly searches: readonly string[];
}

interface ResultsProps {
  readonly pins: readonly Pin[];
  titleOf(count: number): string;
  readonly isReading?: boolean;
  /** The properties of one search, in the chosen order. */
  readonly found?: FoundList;
  onClose?(): void;
}

export function Results({ pins, titleOf, isReading = false, found, onClose }: ResultsProps) {
  const words = useWords();
  const chosen = useValue(filters);
  const { rest } = useModel();
  const results = useMemo(
    () => (found === undefined ? ordered(groupedByProperty(pins), chosen.order) : groupedByProperty(pins)),
    [pins, chosen.order, found === undefined],
  );
  const frozen = useFrozenResults(results, isReading || found !== undefined, chosen);
  const mutation = useMutation();
  const freshCount = found?.fresh.length ?? frozen.freshCount;
  // It is certain that nothing was found only when everything has been read.
  const isUnknown = isReading && frozen.shown.length === 0;
  return (
    <section class="results" aria-labelledby="results" aria-busy={isReading}>
      <h2 id="results">
        {isUnknown ? words.loading : titleOf(frozen.shown.length)}
        {found !== undefined && (
          <button type="button" class="quiet" onClick={() => mutation.run(() => downloadCsv(rest, found))}>
            {words.asCsv}
          </button>
        )}
        {onClose !== undefined && (
          <button type="button" class="quiet" onClick={onClose}>
            {words.close}
          </button>
        )}
      </h2>
      {onClose === undefined && <ResultTools chosen={chosen} />}
      <Problem text={mutation.problem} />
      {isReading && !isUnknown && <p class="hint">{words.loading}</p>}
      <p class="fresh" role="status">
        {freshCount > 0 && (
          <button type="button" onClick={found?.showFresh ?? frozen.showFresh}>
            {words.showNew(freshCount)}
          </button>
        )}
      </p>
      {frozen.shown.length === 0 && !isReading && <p class="hint">{words.noMatchYet}</p>}
      <EndlessList results={frozen.shown} onEnd={found?.more} isOfOne={found !== undefined} />
    </section>
  );
}

function groupedByProperty(pins: readonly Pin[]): readonly Result[] {
  const byProperty = new Map<string, Pin[]>();
  for (const pin of pins) {
    const group = byProperty.get(pin.property);
    if (group === undefined) byProperty.set(pin.property, [pin]);
    else group.push(pin);
  }
  return [...byProperty.values()].map((group) => ({
    pin: group[0] as Pin,
    searches: group.map(({ search }) => search),
  }));
}

/** Unknown values are last. */
function ordered(results: readonly Result[], order: ResultOrder): readonly Result[] {
  if (order === 'newest') return results;
  const sign = order === 'surface' ? -1 : 1;
  return results.toSorted((a, b) => {
    const [one, other] = [a.pin[order], b.pin[order]];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return sign * (one - other);
  });
}

/** The current state of the pins listed at the last choice; all pins while `isFree`, or if none were listed. */
function useFrozenResults(results: readonly Result[], isFree: boolean, chosen: Filters) {
  const { days } = useModel();
  const period = useValue(days);
  const frozen = useRef<ReadonlySet<string>>(new Set());
  const [round, setRound] = useState(0);
  const choice = useRef<readonly unknown[]>([]);
  const isChosen = [chosen, period, round].some((one, at) => one !== choice.current[at]);
  if (isFree || isChosen || frozen.current.size === 0) {
    choice.current = [chosen, period, round];
    frozen.current = new Set(results.map(({ pin }) => pin.property));
  }
  const shown = results.filter(({ pin }) => frozen.current.has(pin.property));
  return { shown, freshCount: results.length - shown.length, showFresh: () => setRound((before) => before + 1) };
}

const TYPING_MS = 300;

function ResultTools({ chosen }: { readonly chosen: Filters }) {
  const words = useWords();
  const [text, setText] = useState(chosen.text);
  useEffect(() => {
    if (text === filters.get().text) return;
    const timer = setTimeout(() => filters.set({ ...filters.get(), text }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="result-tools">
      <SearchInput label={words.filterResults} name="results" value={text} onText={setText} />
      <Select
        aria-label={words.order}
        value={chosen.order}
        choices={RESULT_ORDERS.map((order) => [order, words.orders[order]])}
        onChoose={(order) => filters.set({ ...chosen, order: order as ResultOrder })}
      />
    </div>
  );
}

const ROW_PIXELS = 110;

interface EndlessListProps {
  readonly results: readonly Result[];
  /** True if the list is of one search, whose title is then not shown. */
  readonly isOfOne: boolean;
  onEnd?: (() => void) | undefined;
}

function EndlessList({ results, onEnd, isOfOne }: EndlessListProps) {
  const end = useRef<HTMLDivElement>(null);
  const { byIri } = useValue(useModel().searches);
  useEffect(() => watchNear(end.current, ({ isIntersecting }) => isIntersecting && onEnd?.()), [results.length, onEnd]);
  return (
    <>
      <div role="list" class="list" data-list="matches">
        <Chunks
          rows={results}
          rowPixels={ROW_PIXELS}
          row={(result, props) => (
            <div key={result.pin.property} role="listitem" {...props}>
              <ResultRow result={result} searches={isOfOne ? null : byIri} />
            </div>
          )}
        />
      </div>
      <div ref={end} />
    </>
  );
}

const SEARCHES_SHOWN = 2;
const FEATURES_SHOWN = 4;

interface ResultRowProps {
  readonly result: Result;
  /** Null if their titles are not shown. */
  readonly searches: SearchTable['byIri'] | null;
}

function ResultRow({ result, searches }: ResultRowProps) {
  const { pin } = result;
  const words = useWords();
  const { price, priceBefore, surface, room, floor, energy, features } = pin;
  const facts = [
    surface === null ? null : `${words.number(surface)} m²`,
    room === null ? null : words.rooms(room),
    floor === null ? null : words.atFloor(floor),
    energy.length === 0 ? null : `${words.energy} ${energy.join(', ')}`,
    pin.cityName,
    words.moment(new Date(pin.createdAtMs).toISOString()),
  ];
  const titles = result.searches.map((iri) => searches?.get(iri)?.title ?? '');
  const others = titles.length > SEARCHES_SHOWN ? [`+${titles.length - SEARCHES_SHOWN}`] : [];
  const isCut = price !== null && priceBefore !== null && priceBefore > 0 && price !== priceBefore;
  return (
    <a class="result" href={hrefOf('map', panelIdOf(pin))} data-kind={kindOf(pin)}>
      <Thumbnail pin={pin} />
      <span class="result-price">
        <strong>{words.euros(price)}</strong>
        {isCut && (
          <small>
            <s>{words.euros(priceBefore)}</s> {words.percent((100 * (price - priceBefore)) / priceBefore)}
          </small>
        )}
        {pin.isNew === true && (
          <span class="tag" data-tag="match">
            {words.newMatch}
          </span>
        )}
        {pin.mark !== null && <span class="tag">{words.marked[pin.mark]}</span>}
        {pin.isExpired && <span class="tag">{words.pinKinds.expired}</span>}
      </span>
      <span class="row-title">{pin.title ?? words.untitled}</span>
      <span class="row-more">{facts.filter((fact) => fact !== null).join(' · ')}</span>
      {features.length > 0 && <span class="row-more">{features.slice(0, FEATURES_SHOWN).join(' · ')}</span>}
      {searches !== null && <span class="row-more">{[...titles.slice(0, SEARCHES_SHOWN), ...others].join(' · ')}</span>}
    </a>
  );
}

/** The icon of each property type, by its code; 16 units wide. */
const TYPE_PATHS: readonly string[] = [
  'M3 14V2h10v12zM6 5h1m2 0h1M6 8h1m2 0h1m-3 6v-3h2v3',
  'M2 8l6-5 6 5M4 7v7h8V7M7 14v-4h2v4',
  'M2 14V4h7v10M9 7h5v7H2M4 7h1m1 0h1M4 10h1m1 0h1m4 0h1',
  'M3 2h10v12H3zM6.5 11.5v-7h2.2a2 2 0 010 4H6.5',
  'M2 6h12v7H2zM6 6V3.5h4V6M2 9h12',
  'M2 13l3-6 3 3 2-4 4 7z',
  'M2 6l1-3h10l1 3zM3 6v7h10V6M6 13V9h4v4',
];

/** The first picture, if the operator lets browsers request pictures from the portals. */
function Thumbnail({ pin: { picture, propertyType } }: { readonly pin: Pin }): JSX.Element {
  const link = SETTINGS.showsPictures ? safeLink(picture) : null;
  if (link !== null) return <img class="thumbnail" src={link} alt="" loading="lazy" width="64" height="64" />;
  return (
    <span class="thumbnail" aria-hidden="true">
      <svg class="icon" viewBox="0 0 16 16">
        <path d={TYPE_PATHS[propertyType ?? 0] ?? TYPE_PATHS[0]} />
      </svg>
    </span>
  );
}
