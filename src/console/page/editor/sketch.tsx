/** Shows the edited search on the map: its places, and the properties that its preview counts. */

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useAnswer } from '../answer.ts';
import type { CityDocument, Collection, PreviewDocument } from '../documents.ts';
import { sketch } from '../filters.ts';
import { NO_BASE_MAP } from '../map/base-map.ts';
import { latitudeOf, worldX, worldY } from '../map/projection.ts';
import { type AreaShape, boxOfShape, drawnShapes, hull } from '../map/search-areas.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import type { SharedMap } from '../shared-map.ts';
import { type Draft, inseeCodesOf, numeral } from './draft.ts';

interface SketchProps {
  readonly sharedMap: SharedMap;
  readonly draft: Draft;
  readonly preview: PreviewDocument | null;
}

/** Draws on the map only, and moves it to a chosen place. */
export function Sketch({ sharedMap, draft, preview }: SketchProps) {
  const shapes = useChosenShapes(sharedMap, draft);
  useEffect(() => {
    const transactionType = draft.transactionType === '' ? null : Number(draft.transactionType);
    const dots = (preview?.places ?? []).map(([lon, lat]) => {
      return { x: worldX(lon), y: worldY(latitudeOf(lat)), transactionType, isExpired: false };
    });
    sketch.set({ shapes: shapes ?? sketch.get()?.shapes ?? [], dots });
  }, [shapes, preview]);
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
  return shape.type === 'department' ? shape.code : JSON.stringify(shape);
}

/** Places of one search that are drawn at most. */
const COMMUNES_MAX = 100;

/** Bounds of the towns, zip codes and departments; null while their positions are unknown. */
function useChosenShapes(sharedMap: SharedMap, draft: Draft): readonly AreaShape[] | null {
  const { rest } = useModel();
  const base = useValue(sharedMap.base);
  const insees = [...draft.includedCities.map(({ code }) => code), ...inseeCodesOf(draft)];
  const asked = { 'inseeCodes[]': insees, 'zipcodes[]': draft.includedZipcodes.map(({ code }) => code) };
  const communes = useAnswer(
    async (signal) => {
      const read = Object.entries(asked).map(async ([name, codes]) => {
        if (codes.length === 0) return [];
        const query = { [name]: codes.slice(0, COMMUNES_MAX), itemsPerPage: COMMUNES_MAX };
        return (await rest.read<Collection<CityDocument>>('/cities', query, signal))['hydra:member'];
      });
      return (await Promise.all(read)).flat();
    },
    [JSON.stringify(asked)],
  );
  return useMemo(() => {
    if (communes.value === null || communes.isLoading || base === NO_BASE_MAP) return null;
    const departments = draft.includedDepartments.flatMap(({ code }) => {
      const outline = base.outlines.get(code);
      return outline === undefined ? [] : [{ type: 'department' as const, code, rings: outline.rings }];
    });
    const centres = communes.value.flatMap(({ location, name }) => {
      return location === null
        ? []
        : [{ type: 'commune' as const, x: worldX(location.lon), y: worldY(location.lat), name }];
    });
    return [...departments, ...centres];
  }, [communes.value, communes.isLoading, base, draft.includedDepartments]);
}
