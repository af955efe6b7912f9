/**
 * Points of interest from OpenStreetMap data. An area becomes the centre of its bounding box: of the nodes of a way, of all nodes and ways that are members of a relation. The file is read up
 * to three times (tagged objects, ways of relations, coordinates of the nodes they need), so that memory grows with the
 * places kept and not with the file.
 */

import {
  FACILITIES,
  type Facility,
  type OperatorType,
  type PointAttributes,
  type PointOfInterest,
  type SchoolType,
} from '../../engine/domain/point-of-interest.ts';
import { foldText, storable } from '../../engine/domain/text.ts';

/** A way or relation whose centre is still to be found. */
interface Area extends DescribedFacility {
  readonly nodeIds: readonly number[];
  readonly wayIds: readonly number[];
}

/** The places with a facility, in batches; those of areas come last. */
export async function* collectOsmPoints(read: ReadOsm, tally: ImportTally): AsyncGenerator<readonly PointOfInterest[]> {
  const areas: Area[] = [];
  yield* readTagged(read, tally, areas);
  const nodesOfWay = await readMemberWays(read, areas);
  const nodes = await locateNodes(read, areas, nodesOfWay);
  yield areas.flatMap((area) => {
    const centre = centreOf(area, nodesOfWay, nodes);
    if (centre !== null) return keep(area, centre, tally);
    tally.skip('an area without coordinates in the file');
    return [];
  });
}

async function* readTagged(
  read: ReadOsm,
  tally: ImportTally,
  areas: Area[],
): AsyncGenerator<readonly PointOfInterest[]> {
  let batch: PointOfInterest[] = [];
  const describe = (tags: Tags) => {
    tally.read++;
    const described = describeTags(tags);
    if (described === null) tally.skip(NOT_A_FACILITY);
    return described;
  };
  const blocks = read({
    node(place, tags) {
      const described = describe(tags);
      if (described !== null) batch.push(...keep(described, place, tally));
    },
    way(nodeIds, tags) {
      const described = describe(tags);
      if (described !== null) areas.push({ ...described, nodeIds, wayIds: [] });
    },
    relation(members, tags) {
      const described = describe(tags);
      if (described !== null) areas.push({ ...described, ...memberIds(members) });
    },
  });
  for await (const _ of blocks) {
    if (batch.length > 0) yield batch;
    batch = [];
  }
  yield batch;
}

function memberIds(members: readonly OsmMember[]): Pick<Area, 'nodeIds' | 'wayIds'> {
  const idsOf = (wanted: OsmMember['type']) => members.flatMap(({ type, id }) => (type === wanted ? [id] : []));
  return { nodeIds: idsOf('node'), wayIds: idsOf('way') };
}

function keep(described: DescribedFacility, { lat, lon }: OsmPlace, tally: ImportTally): readonly PointOfInterest[] {
  if (!(Math.abs(lat) <= 90 && Math.abs(lon) <= 180)) {
    tally.skip('coordinates out of range');
    return [];
  }
  const { facility, name, attributes } = described;
  tally.keep(facility);
  return [{ facility, lat, lon, name, attributes }];
}

async function readMemberWays(read: ReadOsm, areas: readonly Area[]): Promise<ReadonlyMap<number, readonly number[]>> {
  const wanted = new Set(areas.flatMap(({ wayIds }) => wayIds));
  const found = new Map<number, readonly number[]>();
  if (wanted.size === 0) return found;
  const blocks = read({ anyWay: (id, nodeIds) => wanted.has(id) && found.set(id, nodeIds()) });
  for await (const _ of blocks);
  return found;
}

/** Coordinates by node id: sorted columns, a fifth of the memory of a map. NaN where the file lacks the node. */
interface LocatedNodes {
  readonly ids: Float64Array;
  readonly lats: Float64Array;
  readonly lons: Float64Array;
}

async function locateNodes(
  read: ReadOsm,
  areas: readonly Area[],
  nodesOfWay: ReadonlyMap<number, readonly number[]>,
): Promise<LocatedNodes> {
  const wanted: number[] = [];
  for (const area of areas) for (const id of area.nodeIds) wanted.push(id);
  for (const nodeIds of nodesOfWay.values()) for (const id of nodeIds) wanted.push(id);
  const ids = Float64Array.from(wanted).sort();
  const lats = new Float64Array(ids.length).fill(Number.NaN);
  const lons = new Float64Array(ids.length);
  const nodes = { ids, lats, lons };
  if (ids.length === 0) return nodes;
  const blocks = read({
    anyNode(id, lat, lon) {
      const at = firstAt(ids, id);
      if (ids[at] !== id) return;
      lats[at] = lat;
      lons[at] = lon;
    },
  });
  for await (const _ of blocks);
  return nodes;
}

/** Where `id` first stands among the ascending `ids`, or would stand. */
function firstAt(ids: Float64Array, id: number): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as number) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

function centreOf(
  area: Area,
  nodesOfWay: ReadonlyMap<number, readonly number[]>,
  nodes: LocatedNodes,
): OsmPlace | null {
  const places: OsmPlace[] = [];
  for (const nodeIds of [area.nodeIds, ...area.wayIds.map((id) => nodesOfWay.get(id) ?? [])]) {
    for (const id of nodeIds) {
      const at = firstAt(nodes.ids, id);
      const lat = nodes.lats[at] ?? Number.NaN;
      if (nodes.ids[at] === id && !Number.isNaN(lat)) places.push({ lat, lon: nodes.lons[at] as number });
    }
  }
  return boxCentre(places);
}

export interface OsmPlace {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
}

export interface OsmMember {
  readonly type: 'node' | 'way' | 'relation';
  readonly id: number;
}

/**
 * OpenStreetMap data as its reader hands it over. It calls these members while it reads and yields now and then, so that the
 * caller can take what it has and let others run.
 */
export interface OsmVisitor {
  /** A node that has an `amenity`. */
  node?(place: OsmPlace, tags: Tags): void;
  /** A way that has an `amenity`. */
  way?(nodeIds: readonly number[], tags: Tags): void;
  /** A relation that has an `amenity`. */
  relation?(members: readonly OsmMember[], tags: Tags): void;
  /** Every way, tagged or not. `nodeIds` is only decoded when called. */
  anyWay?(id: number, nodeIds: () => readonly number[]): void;
  /** Every node, tagged or not. */
  anyNode?(id: number, lat: number, lon: number): void;
}

/** Reads the file once from the beginning to the end. Throws `ImportFileError`. */
type ReadOsm = (visitor: OsmVisitor) => AsyncIterable<void>;

/** The centre of the bounding box; null of nothing. */
export function boxCentre(places: Iterable<OsmPlace>): OsmPlace | null {
  let south = Number.POSITIVE_INFINITY;
  let north = Number.NEGATIVE_INFINITY;
  let west = Number.POSITIVE_INFINITY;
  let east = Number.NEGATIVE_INFINITY;
  for (const { lat, lon } of places) {
    south = Math.min(south, lat);
    north = Math.max(north, lat);
    west = Math.min(west, lon);
    east = Math.max(east, lon);
  }
  return south <= north ? { lat: (south + north) / 2, lon: (west + east) / 2 } : null;
}

export type Tags = Readonly<Record<string, string>>;
/** A point of interest without its place. */
type DescribedFacility = Pick<PointOfInterest, 'facility' | 'name' | 'attributes'>;

export const NOT_A_FACILITY = 'another kind of place';
const NAME_LENGTH_MAX = 200;
/** Maximum length of a raw value: OpenStreetMap allows 255 characters, and one long value may occur in every object. */
const VALUE_LENGTH_MAX = 1_000;

/**
 * The tags of a point: `amenity` is the facility, `school:FR` and `operator:type` are the attributes (specification,
 * section 2.4). GeoJSON properties are read by the same rules. Null when `amenity` is none of the five facilities, or
 * several values at once (`parking;fuel`).
 */
export function describeTags(tags: Tags): DescribedFacility | null {
  const facility = facilityOf(tags.amenity);
  return facility === null ? null : { facility, name: tidyName(tags.name), attributes: attributesOf(tags) };
}

export function facilityOf(amenity: string | undefined): Facility | null {
  return FACILITIES.find((facility) => facility === amenity) ?? null;
}

/** Trimmed, and storable; null for an empty one. */
export function tidyName(name: string | undefined): string | null {
  const tidy = storable((name ?? '').slice(0, VALUE_LENGTH_MAX))
    .trim()
    .slice(0, NAME_LENGTH_MAX);
  return tidy === '' ? null : tidy;
}

function attributesOf(tags: Tags): PointAttributes {
  const schoolType = schoolTypeOf(tags['school:FR'] ?? tags.schoolType);
  const operatorType = operatorTypeOf(tags['operator:type'] ?? tags.operatorType);
  return { ...(schoolType === null ? {} : { schoolType }), ...(operatorType === null ? {} : { operatorType }) };
}

const SCHOOL_TYPES_BY_FOLDED: ReadonlyMap<string, SchoolType> = new Map([
  ['maternelle', 'maternelle'],
  ['elementaire', 'élémentaire'],
  ['primaire', 'primaire'],
  ['college', 'collège'],
  ['lycee', 'lycée'],
  ['secondaire', 'secondaire'],
  ['elementaire maternelle', 'primaire'],
  ['maternelle elementaire', 'primaire'],
  ['college lycee', 'secondaire'],
  ['lycee college', 'secondaire'],
]);

/** Accents and case aside; a school of two stages has the type that spans both. */
function schoolTypeOf(text: string | undefined): SchoolType | null {
  return text === undefined ? null : (SCHOOL_TYPES_BY_FOLDED.get(foldText(text.slice(0, VALUE_LENGTH_MAX))) ?? null);
}

const OPERATOR_TYPES_BY_TEXT: ReadonlyMap<string, OperatorType> = new Map([
  ['public', 'public'],
  ['government', 'public'],
  ['private', 'private'],
  ['private_non_profit', 'private'],
  ['private_for_profit', 'private'],
  ['religious', 'private'],
]);

function operatorTypeOf(text: string | undefined): OperatorType | null {
  return text === undefined
    ? null
    : (OPERATOR_TYPES_BY_TEXT.get(text.slice(0, VALUE_LENGTH_MAX).trim().toLowerCase()) ?? null);
}

export interface PointImportSummary {
  /** Objects looked at: rows, features, or nodes, ways and relations that have an `amenity`. */
  readonly read: number;
  readonly kept: Readonly<Record<Facility, number>>;
  /** How many were left out, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** What an import of points has read, kept and left out, counted while it runs. */
export class ImportTally {
  read = 0;
  readonly #kept = Object.fromEntries(FACILITIES.map((facility) => [facility, 0])) as Record<Facility, number>;
  readonly #skipped = new Map<string, number>();

  keep(facility: Facility): void {
    this.#kept[facility]++;
  }

  /** `reason` is one of a few texts: it is a key of the summary. */
  skip(reason: string): void {
    this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
  }

  summary(): PointImportSummary {
    return { read: this.read, kept: { ...this.#kept }, skipped: Object.fromEntries(this.#skipped) };
  }
}
