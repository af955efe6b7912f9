/**
 * Overpass JSON (`[out:json]`): OpenStreetMap elements, areas with a `center`, `bounds` or `geometry` (`out center`,
 * `out bb`, `out geom`) or with their nodes further on in the file.
 */

import { type ImportFile, ImportFileError } from './import-file.ts';
import { readJsonValues } from './json-stream.ts';
import { boxCentre, type OsmMember, type OsmPlace, type OsmVisitor } from './osm-elements.ts';

interface Bounds {
  readonly minlat: number;
  readonly minlon: number;
  readonly maxlat: number;
  readonly maxlon: number;
}

/** Members are as the file has them: each is checked where it is used. */
interface OverpassElement {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly lat?: unknown;
  readonly lon?: unknown;
  readonly tags?: Readonly<Record<string, string>>;
  readonly nodes?: readonly number[];
  readonly members?: readonly { readonly type: OsmMember['type']; readonly ref: number }[];
  readonly center?: OsmPlace;
  readonly bounds?: Bounds;
  readonly geometry?: readonly (OsmPlace | null)[];
}

export async function* readOverpassJson(
  file: ImportFile,
  visitor: OsmVisitor,
  onBytes: (count: number) => void,
): AsyncGenerator<void> {
  let elements = 0;
  const take = (value: unknown, firstKey: string) => {
    if (firstKey === 'remark') refuseRemark(file.path, value);
    if (firstKey !== 'elements') return;
    elements++;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ImportFileError(`${file.path}: element ${elements} is no object`);
    }
    visit(value, visitor);
  };
  yield* readJsonValues(file, ['$.elements.*', '$.remark'], take, onBytes);
}

/** Overpass answers a query that ran out of time or memory with what it has and this remark. */
function refuseRemark(path: string, remark: unknown): void {
  if (typeof remark === 'string' && /error/i.test(remark)) {
    throw new ImportFileError(`${path} is incomplete; Overpass says: ${remark}`);
  }
}

function visit(element: OverpassElement, visitor: OsmVisitor): void {
  const id = Number(element.id);
  const tags = textsOf(element.tags);
  const isTagged = tags.amenity !== undefined;
  if (element.type === 'node') {
    const place = placeOf(element);
    visitor.anyNode?.(id, place.lat, place.lon);
    if (isTagged) visitor.node?.(place, tags);
  } else if (element.type === 'way') {
    const nodeIds = Array.isArray(element.nodes) ? element.nodes : [];
    visitor.anyWay?.(id, () => nodeIds);
    if (isTagged) visitor.way?.(nodeIds, tags, centreOf(element));
  } else if (element.type === 'relation' && isTagged) {
    const members = Array.isArray(element.members) ? element.members : [];
    visitor.relation?.(
      members.map(({ type, ref }) => ({ type, id: ref })),
      tags,
      centreOf(element),
    );
  }
}

function textsOf(tags: unknown): Record<string, string> {
  const texts: Record<string, string> = Object.create(null);
  if (typeof tags !== 'object' || tags === null) return texts;
  for (const [key, value] of Object.entries(tags)) if (typeof value === 'string') texts[key] = value;
  return texts;
}

function placeOf({ lat, lon }: { readonly lat?: unknown; readonly lon?: unknown }): OsmPlace {
  return { lat: typeof lat === 'number' ? lat : Number.NaN, lon: typeof lon === 'number' ? lon : Number.NaN };
}

function centreOf({ center, bounds, geometry }: OverpassElement): OsmPlace | null {
  if (center) return placeOf(center);
  if (bounds) {
    const corners = [
      placeOf({ lat: bounds.minlat, lon: bounds.minlon }),
      placeOf({ lat: bounds.maxlat, lon: bounds.maxlon }),
    ];
    return boxCentre(corners);
  }
  return Array.isArray(geometry) ? boxCentre(geometry.flatMap((place) => (place ? [placeOf(place)] : []))) : null;
}
