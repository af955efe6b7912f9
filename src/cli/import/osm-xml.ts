/** OpenStreetMap XML (`.osm`, API version 0.6), read as a stream; Overpass's `center` and `bounds` of areas included. */

import { SaxesParser } from 'saxes';
import { createEntryBound, type EntryBound } from './entry-bound.ts';
import { asImportFileError, type ImportFile, ImportFileError } from './import-file.ts';
import { boxCentre, type OsmMember, type OsmPlace, type OsmVisitor } from './osm-elements.ts';

type Attributes = Readonly<Record<string, string>>;

export async function* readOsmXml(
  file: ImportFile,
  visitor: OsmVisitor,
  onBytes: (count: number) => void,
): AsyncGenerator<void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // Between two elements <osm> alone is open.
  const bound = createEntryBound(1);
  const parser = createParser(file.path, visitor, bound);
  try {
    for await (const chunk of file.open(onBytes)) {
      bound.read(chunk.length);
      parser.write(decoder.decode(chunk, { stream: true }));
      yield;
    }
    parser.write(decoder.decode());
    parser.close();
  } catch (error) {
    throw asImportFileError(file.path, error);
  }
}

/** Throws on the first syntax error, with its line and column, and on what goes beyond `bound`. */
function createParser(path: string, visitor: OsmVisitor, bound: EntryBound): SaxesParser {
  const parser = new SaxesParser();
  let element: OpenElement | null = null;
  let isRoot = true;
  parser.on('opentag', ({ name, attributes }) => {
    bound.open();
    if (isRoot && name !== 'osm') throw new ImportFileError(`${path}: the root is <${name}> and not <osm>`);
    isRoot = false;
    if (name === 'node' || name === 'way' || name === 'relation') element = openElement(name, attributes);
    else if (element !== null) addChild(element, name, attributes);
  });
  parser.on('closetag', ({ name }) => {
    bound.close();
    if (element === null || name !== element.type) return;
    visit(element, visitor);
    element = null;
  });
  return parser;
}

interface OpenElement {
  readonly type: OsmMember['type'];
  readonly id: number;
  readonly place: OsmPlace;
  readonly tags: Record<string, string>;
  readonly nodeIds: number[];
  readonly members: OsmMember[];
  centre: OsmPlace | null;
}

function openElement(type: OsmMember['type'], attributes: Attributes): OpenElement {
  const tags: Record<string, string> = Object.create(null);
  return { type, id: Number(attributes.id), place: placeOf(attributes), tags, nodeIds: [], members: [], centre: null };
}

function placeOf({ lat, lon }: Attributes): OsmPlace {
  return { lat: Number(lat ?? Number.NaN), lon: Number(lon ?? Number.NaN) };
}

function addChild(element: OpenElement, name: string, attributes: Attributes): void {
  switch (name) {
    case 'tag':
      if (attributes.k !== undefined) element.tags[attributes.k] = attributes.v ?? '';
      break;
    case 'nd':
      element.nodeIds.push(Number(attributes.ref));
      break;
    case 'member':
      element.members.push({ type: attributes.type as OsmMember['type'], id: Number(attributes.ref) });
      break;
    case 'center':
      element.centre = placeOf(attributes);
      break;
    case 'bounds':
      element.centre ??= boxCentre([
        { lat: Number(attributes.minlat), lon: Number(attributes.minlon) },
        { lat: Number(attributes.maxlat), lon: Number(attributes.maxlon) },
      ]);
      break;
  }
}

function visit(element: OpenElement, visitor: OsmVisitor): void {
  const { type, id, place, tags, nodeIds, members, centre } = element;
  const isTagged = tags.amenity !== undefined;
  if (type === 'node') {
    visitor.anyNode?.(id, place.lat, place.lon);
    if (isTagged) visitor.node?.(place, tags);
  } else if (type === 'way') {
    visitor.anyWay?.(id, () => nodeIds);
    if (isTagged) visitor.way?.(nodeIds, tags, centre);
  } else if (isTagged) visitor.relation?.(members, tags, centre);
}
