/** The first view: the properties of the searches on the map and as a list, and the open property. */

import { useId, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { ManyChips, Select } from '../controls.tsx';
import { Empty } from '../elements.tsx';
import { filters, nearby } from '../filters.ts';
import { PIN_KINDS, type PinKind } from '../map/pin-painter.ts';
import type { SearchTable } from '../model.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { hrefOf } from '../route.ts';
import { useShownPins } from '../shown-pins.ts';
import { useWords } from '../words/language.ts';
import { PropertyPanel } from './property-panel.tsx';
import { Results } from './results.tsx';

export function MapView({ match }: { readonly match: string | null }) {
  return match === null ? <Overview /> : <PropertyPanel key={match} match={match} />;
}

function Overview() {
  const words = useWords();
  const model = useModel();
  const searches = useValue(model.searches);
  const found = useValue(model.found);
  const here = useValue(nearby);
  const isReading = useValue(model.isReadingMatches);
  const shown = useShownPins();
  if (searches.isLoaded && searches.total === 0) return <FirstSteps />;
  return (
    <div class="overview">
      <h1 class="visually-hidden">{words.views.map}</h1>
      <FilterBar searches={searches} />
      {here !== null ? (
        <Results pins={here} titleOf={words.atThisPlace} onClose={() => nearby.set(null)} />
      ) : found === null ? (
        <Results pins={shown} titleOf={words.notifiedCount} isReading={isReading} />
      ) : (
        <Results
          pins={shown}
          titleOf={() => words.foundNow(found.total, found.isEstimated)}
          isReading={found.isReading}
          found={found}
        />
      )}
    </div>
  );
}

/** States what to do while there is no search. */
function FirstSteps() {
  const words = useWords();
  return (
    <Empty title={words.noSearch}>
      <h1 class="visually-hidden">{words.views.map}</h1>
      <p>{words.noSearchHint}</p>
      <a class="button primary" href={hrefOf('searches', 'new')}>
        {words.drawFirst}
      </a>
    </Empty>
  );
}

function FilterBar({ searches }: { readonly searches: SearchTable }) {
  const words = useWords();
  const model = useModel();
  const chosen = useValue(filters);
  const days = useValue(model.days);
  return (
    <div class="filters">
      <SearchChooser searches={searches} />
      {chosen.search !== null && (
        <Select
          aria-label={words.marks}
          value={chosen.mark ?? ''}
          choices={[['', words.unmarked], ...Object.entries(words.marked)]}
          onChoose={(mark) => filters.set({ ...chosen, mark: mark === '' ? null : (mark as 'kept') })}
        />
      )}
      {chosen.search === null && (
        <Select
          aria-label={words.period}
          value={String(days)}
          choices={Object.entries(words.periods)}
          onChoose={(value) => model.days.set(value === 'null' ? null : Number(value))}
        />
      )}
      <ManyChips
        label={words.kinds}
        choices={PIN_KINDS.map((kind) => [kind, [dotOf(kind), words.pinKinds[kind]]])}
        chosen={chosen.kinds}
        onChange={(kinds) => filters.set({ ...chosen, kinds })}
      />
    </div>
  );
}

function dotOf(kind: PinKind) {
  return <span key={kind} class="dot" data-kind={kind} aria-hidden="true" />;
}

/**
 * Typing narrows the titles. Text that is not a title changes nothing, and is reset when the field loses the focus.
 */
function SearchChooser({ searches: { list, byIri, total } }: { readonly searches: SearchTable }) {
  const words = useWords();
  const id = useId();
  const { search } = useValue(filters);
  const title = search === null ? '' : (byIri.get(search)?.title ?? '');
  const [typed, setTyped] = useState(title);
  // Before the page is drawn, so that letters typed immediately are not overwritten.
  useLayoutEffect(() => setTyped(title), [title]);
  const type = (text: string): void => {
    setTyped(text);
    const named = list.find((one) => one.title === text);
    if (text.trim() === '' || named !== undefined)
      filters.set({ ...filters.get(), search: named?.['@id'] ?? null, mark: null });
  };
  // Memoised, so that a thousand options are not compared again for each letter.
  const options = useMemo(
    () => [...new Set(list.map((one) => one.title))].map((one) => <option key={one} value={one} />),
    [list],
  );
  return (
    <>
      <input
        type="search"
        name="search"
        list={id}
        aria-label={words.search}
        placeholder={words.allSearches(total)}
        value={typed}
        onFocus={({ currentTarget }) => currentTarget.select()}
        onInput={({ currentTarget }) => type(currentTarget.value)}
        onBlur={() => setTyped(title)}
      />
      <datalist id={id}>{options}</datalist>
    </>
  );
}
