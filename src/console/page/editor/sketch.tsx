/** Shows the edited search on the map: its places, and the properties that its preview counts. */

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useAnswer } from '../answer.ts';
import { type CityDocument, type Collection, FIRST_ARRONDISSEMENTS, type PreviewDocument } from '../documents.ts';
import { sketch } from '../filters.ts';
import { NO_BASE_MAP } from '../map/base-map.ts';
import { departmentOf } from '../map/commune-map.ts';
import { worldX, worldY } from '../map/projection.ts';
import {
  type AreaShape,
  boxOfShape,
  communeShapes,
  departmentShapes,
  drawnShapes,
  hatched,
  hull,
  polygonOf,
} from '../map/search-areas.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import type { SharedMap } from '../shared-map.ts';
import { type Draft, inseeCodesOf, numeral, type PLACE_MEMBERS } from './draft.ts';

interface SketchProps {
  readonly sharedMap: SharedMap;
  readonly draft: Draft;
  readonly preview: PreviewDocument | null;
}

/** Only draws on the map, and moves it to a chosen place. */
export function Sketch({ sharedMap, draft, preview }: SketchProps) {
  const shapes = useChosenShapes(sharedMap, draft, 'included');
  const excludedPlaces = useChosenShapes(sharedMap, draft, 'excluded');
  const excluded = useMemo(
    () => hatched([...draft.excludedShapes.map(polygonOf), ...(excludedPlaces ?? [])]),
    [draft.excludedShapes, excludedPlaces],
  );
  // The previous outlines stay until the new ones are known.
  const present = useRef<readonly AreaShape[]>([]);
  present.current = shapes ?? present.current;
  useEffect(() => {
    const transactionType = draft.transactionType === '' ? null : Number(draft.transactionType);
    const dots = (preview?.places ?? []).map(([lon, lat]) => {
      return { x: worldX(lon), y: worldY(lat), transactionType, isExpired: false };
    });
    sketch.set({ shapes: [...present.current, ...excluded], dots });
  }, [shapes, excluded, preview]);
  useEffect(() => () => sketch.set(null), []);
  const shown = useRef<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (shapes === null) return;
    const { lat, lon, radius } = draft;
    const circle = { lat: numeral(lat) || null, lon: numeral(lon) || null, radius: numeral(radius) || null };
    const drawn = shown.current === null ? drawnShapes({ ...circle, geoShapes: draft.shapes }) : [];
    const chosen = [...drawn, ...shapes.filter((shape) => shown.current?.has(keyOf(shape)) !== true)];
    shown.current = new Set(shapes.map(keyOf));
    if (chosen.length > 0) sharedMap.goTo(hull(chosen.map(boxOfShape)));
  }, [shapes]);
  return null;
}

function keyOf(shape: AreaShape): string {
  return 'code' in shape ? shape.code : JSON.stringify(shape);
}

/** Maximum places of one search that are drawn. */
const COMMUNES_MAX = 100;

/** Outlines of the towns, zip codes and departments; null while unknown. */
function useChosenShapes(
  sharedMap: SharedMap,
  draft: Draft,
  side: keyof typeof PLACE_MEMBERS,
): readonly AreaShape[] | null {
  const { rest } = useModel();
  const base = useValue(sharedMap.base);
  const departments = draft[`${side}Departments`].map(({ code }) => code);
  const insees = [...draft[`${side}Cities`].map(({ code }) => code), ...inseeCodesOf(draft[`${side}InseeCodes`])];
  const requested = { 'inseeCodes[]': insees, 'zipcodes[]': draft[`${side}Zipcodes`].map(({ code }) => code) };
  const communes = useAnswer(
    async (signal) => {
      const read = Object.entries(requested).map(async ([name, codes]) => {
        if (codes.length === 0) return [];
        const query = { [name]: codes.slice(0, COMMUNES_MAX), itemsPerPage: COMMUNES_MAX };
        const found = (await rest.read<Collection<CityDocument>>('/cities', query, signal))['hydra:member'];
        // A zip code of Paris belongs to one arrondissement, but also finds the whole city.
        return found.filter(({ insee }) => insees.includes(insee) || !(insee in FIRST_ARRONDISSEMENTS));
      });
      const cities = (await Promise.all(read)).flat();
      await sharedMap.readCommunes([...departments, ...cities.map(({ insee }) => departmentOf(insee))]);
      return cities;
    },
    [JSON.stringify([departments, requested]), base === NO_BASE_MAP],
  );
  return useMemo(() => {
    if (communes.value === null || communes.isLoading || base === NO_BASE_MAP) return null;
    const towns = communes.value.flatMap(({ insee, location }) => {
      const centre = location && { x: worldX(location.lon), y: worldY(location.lat) };
      return communeShapes(insee, base, centre);
    });
    return [...departmentShapes(departments, base), ...towns];
  }, [communes.value, communes.isLoading, base, draft[`${side}Departments`]]);
}
