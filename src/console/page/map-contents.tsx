/** Updates the search areas and properties on the map. Renders a button that shows all, and a notice about streets. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SearchDocument } from './documents.ts';
import { filters, nearby, sketch } from './filters.ts';
import { type Box, NO_BASE_MAP } from './map/base-map.ts';
import { type Dot, pinsNear } from './map/pin-painter.ts';
import { worldX, worldY } from './map/projection.ts';
import { areaOf, areaOfShapes, boxOfDots, departmentsShown, hull } from './map/search-areas.ts';
import { useModel } from './model-context.ts';
import { useValue } from './observable.ts';
import { type Pin, panelIdOf } from './pins.ts';
import { hrefOf, open, route } from './route.ts';
import { SETTINGS } from './session.ts';
import { type SharedMap, useSharedMap } from './shared-map.ts';
import { useShownPins } from './shown-pins.ts';
import { useWords } from './words/language.ts';

const NO_DOTS: readonly Dot[] = [];
const REACH_PIXELS = 9;
/** Maximum searches whose areas are shown together. */
const AREAS_MAX = 12;
/** Maximum matches that are listed for one point. */
const NEAR_MAX = 50;

export function MapContents() {
  const model = useModel();
  const sharedMap = useSharedMap() as SharedMap;
  const { list } = useValue(model.searches);
  const base = useValue(sharedMap.base);
  const chosenFilters = useValue(filters);
  const { view, id } = useValue(route);
  const written = useValue(sketch);
  const edited = view === 'searches' && id !== null ? `/searches/${id}` : null;
  const chosen = edited ?? chosenFilters.search;
  // The areas of many searches would cover the map, and those of other searches the edited one.
  const shownSearches = useMemo(() => {
    if (edited !== null) return [];
    return list.filter(({ '@id': iri }) => (chosen === null ? list.length <= AREAS_MAX : iri === chosen));
  }, [list, edited, chosen]);
  const [ready, setReady] = useState<readonly SearchDocument[] | null>(null);
  useEffect(() => {
    if (base === NO_BASE_MAP) return;
    void sharedMap.readCommunes(shownSearches.flatMap(departmentsShown)).then(() => setReady(shownSearches));
  }, [shownSearches, base === NO_BASE_MAP]);
  const drawn = useMemo(
    () =>
      written === null
        ? shownSearches.map((search) => areaOf(search, base))
        : [areaOfShapes(edited ?? '', written.shapes)],
    [shownSearches, base, edited, written],
  );
  useEffect(() => sharedMap.showAreas(drawn, chosen), [drawn, chosen]);
  const shown = useShownPins();
  // Matches of other searches would look like results of the edited one.
  const dots = edited === null ? shown : (written?.dots ?? NO_DOTS);
  useEffect(() => sharedMap.showPins(dots), [dots]);
  const boxes = useMemo(() => {
    return [...drawn.flatMap(({ box }) => box ?? []), ...boxOfDots(dots)];
  }, [drawn, dots]);
  const found = useValue(model.found);
  const isReading = useValue(model.isReadingMatches);
  const isList = ready === shownSearches && view === 'map' && id === null;
  useGoingThere(sharedMap, {
    boxes: isList ? boxes : [],
    chosen: chosenFilters.search,
    isReading: found?.isReading ?? isReading,
  });
  usePicking(sharedMap, view === 'map' ? shown : null);
  const words = useWords();
  return (
    <>
      <button type="button" class="whole" onClick={() => sharedMap.goTo(boxes.length === 0 ? null : hull(boxes))}>
        {words.wholeMap}
      </button>
      <NoStreets sharedMap={sharedMap} />
    </>
  );
}

/** From this zoom on, readers miss streets on a map of outlines. */
const STREETS_WANTED_FROM_ZOOM = 12;
/** A public tile server; its usage policy is linked next to it. */
const HOW_TO_GET_STREETS = `VIGIE_MAP_TILES_URL=https://tile.openstreetmap.org/{z}/{x}/{y}.png
VIGIE_MAP_ATTRIBUTION="© OpenStreetMap contributors"`;
const USAGE_POLICY = 'https://operations.osmfoundation.org/policies/tiles/';

function NoStreets({ sharedMap }: { readonly sharedMap: SharedMap }) {
  const words = useWords();
  const [lacks, setLacks] = useState(false);
  useEffect(() => {
    const read = (): void => setLacks(lacksStreets(sharedMap.map));
    sharedMap.map.on('moveend', read);
    return () => void sharedMap.map.off('moveend', read);
  }, [sharedMap]);
  if (!lacks) return null;
  return (
    <details class="no-streets">
      <summary>{words.noStreets}</summary>
      <p>{words.howToGetStreets}</p>
      <pre>{HOW_TO_GET_STREETS}</pre>
      <a href={USAGE_POLICY} rel="noreferrer" target="_blank">
        {words.tilesUsagePolicy}
      </a>
    </details>
  );
}

function lacksStreets(map: SharedMap['map']): boolean {
  return SETTINGS.tilesUrl === null && map.getZoom() >= STREETS_WANTED_FROM_ZOOM;
}

interface Listed {
  readonly boxes: readonly Box[];
  readonly isReading: boolean;
  /** IRI of the search. */
  readonly chosen: string | null;
}

/** Moves the map to the listed properties when some are read, and again when all are, unless the reader moved it. */
function useGoingThere(sharedMap: SharedMap, { boxes, isReading, chosen }: Listed): void {
  const state = useRef<'nowhere' | 'near' | 'there'>('nowhere');
  useEffect(() => {
    const take = (): void => {
      state.current = 'there';
    };
    const container = sharedMap.map.getContainer();
    for (const kind of ['pointerdown', 'wheel', 'keydown']) container.addEventListener(kind, take);
  }, [sharedMap]);
  useEffect(() => {
    state.current = 'nowhere';
  }, [chosen]);
  useEffect(() => {
    if (boxes.length === 0 || state.current === 'there' || (state.current === 'near' && isReading)) return;
    state.current = isReading ? 'near' : 'there';
    sharedMap.goTo(hull(boxes));
  }, [boxes, isReading]);
}

/** A click opens the property at that point. If there are several, the panel lists them. */
function usePicking(sharedMap: SharedMap, shown: readonly Pin[] | null): void {
  useEffect(() => {
    if (shown === null) return;
    const { map } = sharedMap;
    const near = ({ latlng }: L.LeafletMouseEvent) => {
      const reach = REACH_PIXELS / (256 * 2 ** map.getZoom());
      return pinsNear(shown, worldX(latlng.lng), worldY(latlng.lat), reach);
    };
    const pick = (event: L.LeafletMouseEvent): void => {
      const found = near(event);
      const properties = new Set(found.map(({ property }) => property));
      nearby.set(properties.size > 1 ? found.slice(0, NEAR_MAX) : null);
      const [first] = found;
      if (properties.size === 1 && first !== undefined) open('map', panelIdOf(first));
      else location.hash = hrefOf('map');
    };
    const point = (event: L.LeafletMouseEvent): void => {
      map.getContainer().classList.toggle('over-pin', near(event).length > 0);
    };
    map.on('click', pick);
    map.on('mousemove', point);
    return () => {
      map.off('click', pick);
      map.off('mousemove', point);
      map.getContainer().classList.remove('over-pin');
    };
  }, [shown]);
}
