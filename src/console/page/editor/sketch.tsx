/** Shows the edited search on the map: its places, and the properties that its preview counts. */

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useAnswer } from '../answer.ts';
import { type CityDocument, type Collection, FIRST_ARRONDISSEMENTS, type PreviewDocument } from '../documents.ts';
import { sketch } from '../filters.ts';
import { NO_BASE_MAP } from '../map/base-map.ts';
import { worldX, worldY } from '../map/projection.ts';
import {
  type AreaShape,
  boxOfShape,
  departmentsOf,
  drawnShapes,
  hatched,
  hull,
  namedShapes,
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

/** Maximum communes that are read for the zip codes. */
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
  const zipcodes = draft[`${side}Zipcodes`].map(({ code }) => code).slice(0, COMMUNES_MAX);
  const codes = useAnswer(
    async (signal) => {
      const query = { 'zipcodes[]': zipcodes, itemsPerPage: COMMUNES_MAX };
      const read = zipcodes.length > 0 && (await rest.read<Collection<CityDocument>>('/cities', query, signal));
      const ofZipcodes = (read ? read['hydra:member'] : []).map(({ insee }) => insee);
      // A zip code of Paris belongs to one arrondissement, but also finds the whole city.
      const others = ofZipcodes.filter((insee) => !(insee in FIRST_ARRONDISSEMENTS));
      const chosen = { departments, insees: [...insees, ...others] };
      await sharedMap.readCommunes(departmentsOf(chosen));
      return chosen;
    },
    [JSON.stringify([departments, insees, zipcodes]), base === NO_BASE_MAP],
  );
  return useMemo(
    () => (codes.value === null || codes.isLoading || base === NO_BASE_MAP ? null : namedShapes(codes.value, base)),
    [codes.value, codes.isLoading, base],
  );
}
