/** The first view: what the searches find, on the map and as a list, and what is known of the one that is open. */

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { idOf } from '../documents.ts';
import { Empty, Icon } from '../elements.tsx';
import { filters, nearby } from '../filters.ts';
import { kindOf, type PinKind } from '../map/pin-painter.ts';
import type { Happening, SearchTable } from '../model.ts';
import { useModel } from '../model-context.ts';
import { useNow } from '../now.ts';
import { useValue } from '../observable.ts';
import { type Pin, panelIdOf } from '../pins.ts';
import { hrefOf } from '../route.ts';
import { useShownPins } from '../shown-pins.ts';
import { useFormats } from '../words/formats.ts';
import { useWords, type Words } from '../words/language.ts';
import { PropertyPanel } from './property-panel.tsx';

const LISTED_MAX = 60;

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
        <PinList title={words.atThisPlace(here.length)} pins={here} onClose={() => nearby.set(null)} />
      ) : (
        <>
          <Happenings />
          {found === null ? (
            <PinList title={words.matchCount(shown.length)} pins={shown} isReading={isReading} />
          ) : (
            <PinList title={words.foundNow(found.total, found.isEstimated)} pins={shown} isReading={found.isReading} />
          )}
        </>
      )}
    </div>
  );
}

/** Nobody is left before an empty map. */
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

const KINDS: readonly PinKind[] = ['sale', 'rent', 'expired'];
const PERIODS_DAYS = [1, 7, 30, null] as const;

function FilterBar({ searches }: { readonly searches: SearchTable }) {
  const words = useWords();
  const model = useModel();
  const chosen = useValue(filters);
  const days = useValue(model.days);
  const options = useSearchOptions(searches);
  const toggle = (kind: PinKind): void => {
    const hidden = new Set(chosen.hidden);
    if (!hidden.delete(kind)) hidden.add(kind);
    filters.set({ ...chosen, hidden });
  };
  return (
    <div class="filters">
      <select
        aria-label={words.search}
        value={chosen.search ?? ''}
        onChange={({ currentTarget }) => filters.set({ ...chosen, search: currentTarget.value || null })}
      >
        <option value="">{words.allSearches(searches.total)}</option>
        {options}
      </select>
      {chosen.search === null && (
        <select
          aria-label={words.period}
          value={String(days)}
          onChange={({ currentTarget }) =>
            model.days.set(currentTarget.value === 'null' ? null : Number(currentTarget.value))
          }
        >
          {PERIODS_DAYS.map((one) => (
            <option key={one} value={String(one)}>
              {words.periods[String(one) as keyof Words['periods']]}
            </option>
          ))}
        </select>
      )}
      <div class="chips" role="group" aria-label={words.kinds}>
        {KINDS.map((kind) => (
          <button
            key={kind}
            type="button"
            class="chip"
            data-kind={kind}
            aria-pressed={!chosen.hidden.has(kind)}
            onClick={() => toggle(kind)}
          >
            <span class="dot" aria-hidden="true" />
            {words.pinKinds[kind]}
          </button>
        ))}
      </div>
    </div>
  );
}

/** A thousand of them are not compared again for each change of a filter. */
function useSearchOptions({ list }: SearchTable): readonly JSX.Element[] {
  return useMemo(
    () =>
      list.map(({ '@id': iri, title }) => (
        <option key={iri} value={iri}>
          {title}
        </option>
      )),
    [list],
  );
}

const HAPPENINGS_SHOWN = 6;

function Happenings() {
  const words = useWords();
  const model = useModel();
  const happenings = useValue(model.happenings);
  const { search } = useValue(filters);
  const { byIri } = useValue(model.searches);
  const shown = happenings.filter((one) => search === null || one.search === search).slice(0, HAPPENINGS_SHOWN);
  return (
    <section aria-labelledby="happening">
      <h2 id="happening">{words.justNow}</h2>
      {shown.length === 0 && <p class="hint">{words.waitingForNews}</p>}
      <ul class="list" aria-live="polite" aria-relevant="additions">
        {shown.map((one) => (
          <HappeningRow key={one.id} happening={one} search={byIri.get(one.search)?.title ?? ''} />
        ))}
      </ul>
    </section>
  );
}

function HappeningRow({ happening, search }: { readonly happening: Happening; readonly search: string }) {
  const words = useWords();
  const formats = useFormats();
  const model = useModel();
  const now = useNow();
  const { isMatch, event, match, was, is, percent, at } = happening;
  const pin = model.pins.get(match);
  const isPrice = event === 'ad.update.price';
  const shownValue = (value: string | null): string =>
    isPrice && value !== null ? formats.euros(Number(value)) : (value ?? '–');
  return (
    <li>
      <a class="row" href={hrefOf('map', idOf(match))}>
        <span class="tag" data-tag={isMatch ? 'match' : 'event'}>
          {isMatch ? words.newMatch : words.events[event as keyof Words['events']]}
        </span>
        <span class="row-title">{pin?.title ?? words.untitled}</span>
        <span class="row-aside">{formats.distance(Date.parse(at) - now)}</span>
        <span class="row-more">
          {was !== null || is !== null ? (
            <>
              {shownValue(was)} <Icon name="to" /> {shownValue(is)}
            </>
          ) : (
            formats.euros(pin?.price ?? null)
          )}
          {percent !== null && ` (${formats.percent(percent)})`}
          {search !== '' && ` · ${search}`}
        </span>
      </a>
    </li>
  );
}

interface PinListProps {
  readonly title: string;
  readonly pins: readonly Pin[];
  readonly isReading?: boolean;
  onClose?(): void;
}

function PinList({ title, pins, isReading = false, onClose }: PinListProps) {
  const words = useWords();
  return (
    <section aria-labelledby="pins">
      <h2 id="pins">
        {title}
        {onClose !== undefined && (
          <button type="button" class="quiet" onClick={onClose}>
            {words.close}
          </button>
        )}
      </h2>
      {isReading && <p class="hint">{words.loading}</p>}
      {pins.length === 0 && !isReading && <p class="hint">{words.noMatchYet}</p>}
      <ul class="list" data-list="matches">
        {pins.slice(0, LISTED_MAX).map((pin) => (
          <PinRow key={pin.match} pin={pin} />
        ))}
      </ul>
      {pins.length > LISTED_MAX && <p class="hint">{words.andMore(pins.length - LISTED_MAX)}</p>}
    </section>
  );
}

function PinRow({ pin }: { readonly pin: Pin }) {
  const words = useWords();
  const formats = useFormats();
  const { byIri } = useValue(useModel().searches);
  const facts = [
    formats.euros(pin.price),
    pin.surface === null ? null : `${formats.number(pin.surface)} m²`,
    pin.cityName,
  ];
  return (
    <li>
      <a class="row" href={hrefOf('map', panelIdOf(pin))}>
        <span class="dot" data-kind={kindOf(pin)} aria-hidden="true" />
        <span class="row-title">{pin.title ?? words.untitled}</span>
        <span class="row-aside">{formats.moment(new Date(pin.createdAtMs).toISOString())}</span>
        <span class="row-more">
          {facts.filter((fact) => fact !== null).join(' · ')}
          {` · ${byIri.get(pin.search)?.title ?? ''}`}
        </span>
      </a>
    </li>
  );
}
