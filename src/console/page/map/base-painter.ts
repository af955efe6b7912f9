/** Paints the two layers under the pins: land with borders, and search areas with names. */

import { type BaseMap, boxesMeet, type Land } from './base-map.ts';
import type { Frame } from './canvas-layer.ts';
import type { Colours } from './colours.ts';
import { COMMUNES_FROM_ZOOM } from './commune-map.ts';
import type { AreaShape, SearchArea } from './search-areas.ts';

export interface BasePicture {
  readonly base: BaseMap;
  readonly areas: readonly SearchArea[];
  /** The IRI of the chosen search. */
  readonly chosen: string | null;
  readonly colours: Colours;
  /** True if a tile server shows land and names: names are then not painted. */
  readonly hasTiles: boolean;
}

export function paintBase(frame: Frame, picture: BasePicture): void {
  paintAreas(frame, picture);
  if (!picture.hasTiles) paintNames(frame, picture);
}

/** About 300 metres on each side, because the outlines of departments cut off harbours. */
const SHORE_REACH = 0.00002;
/** Four kilometres on each side, because the two sides of a border come from different sources. */
const BORDER_REACH = 0.0003;

export function paintLand(frame: Frame, { base, colours }: BasePicture): void {
  const { context, scale } = frame;
  const hasCommunes = frame.zoom >= COMMUNES_FROM_ZOOM;
  const communes = hasCommunes ? [...base.communes.values()].filter(({ box }) => boxesMeet(box, frame.box)) : [];
  context.lineJoin = 'round';
  context.lineCap = 'butt';
  context.fillStyle = context.strokeStyle = colours.land;
  paintAbroad(frame, base);
  // A broad line along each outline paints the shore as land.
  context.lineWidth = SHORE_REACH * scale;
  for (const outline of base.outlines.values()) {
    if (!hasCommunes || !base.communes.has(outline.code)) fillLand(frame, outline);
  }
  context.lineWidth = 1;
  for (const one of communes) fillLand(frame, one);
  context.strokeStyle = colours.border;
  for (const { divisions } of communes) strokeLines(frame, divisions);
  context.lineWidth = hasCommunes ? 2 : 1;
  strokeLines(frame, hasCommunes ? communes.flatMap(({ rings }) => rings) : base.divisions);
  context.lineWidth = hasCommunes ? 3 : 2;
  strokeLines(frame, hasCommunes ? communes.flatMap((one) => one.borders) : base.borders);
}

/** Paints the neighbouring countries and the gap between them and France, without the lakes. */
function paintAbroad(frame: Frame, { neighbours, france, lakes, borders }: BaseMap): void {
  const { context, scale } = frame;
  const fillRings = (lands: readonly Land[], operation: GlobalCompositeOperation): void => {
    const rings = lands.flatMap((land) => land.rings);
    trace(frame, rings);
    context.globalCompositeOperation = operation;
    context.fill('evenodd');
    context.globalCompositeOperation = 'source-over';
  };
  context.lineWidth = BORDER_REACH * scale;
  strokeLines(frame, borders);
  // Only the part within France is kept, because the rest would cover the sea at the end of a border.
  fillRings(france, 'destination-in');
  context.lineWidth = 1;
  for (const land of neighbours) fillLand(frame, land);
  fillRings(lakes, 'destination-out');
}

function fillLand(frame: Frame, { rings, box }: Land): void {
  if (!boxesMeet(box, frame.box)) return;
  trace(frame, rings);
  frame.context.fill('evenodd');
  frame.context.stroke();
}

function strokeLines(frame: Frame, lines: readonly Float64Array[]): void {
  trace(frame, lines, false);
  frame.context.stroke();
}

/** Leaves out corners less than a pixel from the previous one, because a coast has thousands. */
function trace({ context, scale, originX, originY }: Frame, rings: readonly Float64Array[], isClosed = true): void {
  context.beginPath();
  for (const ring of rings) {
    let [lastX, lastY] = [-Infinity, -Infinity];
    for (let at = 0; at < ring.length; at += 2) {
      const x = (ring[at] as number) * scale - originX;
      const y = (ring[at + 1] as number) * scale - originY;
      if (at === 0) context.moveTo(x, y);
      else if (Math.abs(x - lastX) + Math.abs(y - lastY) < 1) continue;
      else context.lineTo(x, y);
      [lastX, lastY] = [x, y];
    }
    if (isClosed) context.closePath();
  }
}

/** Paints an outline once for all searches, and the chosen search last, over the others. */
function paintAreas(frame: Frame, { areas, chosen, colours }: BasePicture): void {
  const { context } = frame;
  const painted = new Set<string>();
  const visible = areas.filter(({ box }) => box !== null && boxesMeet(box, frame.box));
  context.globalAlpha = 0.1;
  context.fillStyle = context.strokeStyle = colours.area;
  context.lineWidth = 1.25;
  for (const { shapes, search } of visible) {
    if (search === chosen) continue;
    for (const shape of shapes) {
      const outline = shape.type === 'outline' ? `${shape.code} ${shape.isExcluded}` : null;
      if (outline !== null && painted.has(outline)) continue;
      if (outline !== null) painted.add(outline);
      paintShape(frame, shape, 0.55);
    }
  }
  context.globalAlpha = 0.16;
  context.fillStyle = context.strokeStyle = colours.chosen;
  context.lineWidth = 2.5;
  for (const { shapes, search } of visible) {
    if (search === chosen) for (const shape of shapes) paintShape(frame, shape, 1);
  }
  context.globalAlpha = 1;
}

const DOT_PIXELS = 9;

function paintShape(frame: Frame, shape: AreaShape, strokeAlpha: number): void {
  const { context } = frame;
  if (shape.type === 'circle' || shape.type === 'dot') {
    const radius = shape.type === 'circle' ? Math.max(3, shape.radius * frame.scale) : DOT_PIXELS;
    context.beginPath();
    context.arc(shape.x * frame.scale - frame.originX, shape.y * frame.scale - frame.originY, radius, 0, 2 * Math.PI);
  } else {
    trace(frame, shape.rings);
  }
  context.save();
  if (shape.isExcluded === true) {
    context.globalAlpha = strokeAlpha;
    context.fillStyle = hatching(context) ?? context.fillStyle;
    context.setLineDash(DASHES);
  }
  context.fill('evenodd');
  context.globalAlpha = strokeAlpha;
  context.stroke();
  context.restore();
}

const DASHES = [6, 4];
const HATCH_PIXELS = 8;

/** Diagonal lines in the colour of the strokes. */
function hatching(context: CanvasRenderingContext2D): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = tile.height = HATCH_PIXELS;
  const pen = tile.getContext('2d');
  if (pen === null) return null;
  pen.strokeStyle = context.strokeStyle;
  // The ends lie in the corners, where the lines of neighbouring tiles meet.
  for (const start of [-HATCH_PIXELS, 0, HATCH_PIXELS]) {
    pen.moveTo(start, HATCH_PIXELS);
    pen.lineTo(start + HATCH_PIXELS, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat');
}

const NAMES_MAX = 90;
const NAME_PIXELS = 12;
/** The zoom from which the largest communes are named, and the one from which all are. */
const NAMES_FROM_ZOOM = 6;
const ALL_NAMES_FROM_ZOOM = 11;

function paintNames(frame: Frame, { base, colours }: BasePicture): void {
  const { context, zoom } = frame;
  const occupied: { x: number; y: number; half: number }[] = [];
  context.textAlign = 'center';
  context.lineJoin = 'round';
  context.lineWidth = 3;
  context.strokeStyle = colours.halo;
  context.fillStyle = colours.label;
  const write = (name: string, worldX: number, worldY: number, dy: number): void => {
    const x = worldX * frame.scale - frame.originX;
    const y = worldY * frame.scale - frame.originY + dy;
    if (x < 0 || y < 0 || x > frame.width || y > frame.height) return;
    const half = (name.length * NAME_PIXELS) / 3.4;
    const isTaken = occupied.some(
      (one) => Math.abs(one.x - x) < one.half + half + 6 && Math.abs(one.y - y) < NAME_PIXELS * 1.7,
    );
    if (isTaken) return;
    occupied.push({ x, y, half });
    context.strokeText(name, x, y);
    context.fillText(name, x, y);
  };
  if (zoom >= NAMES_FROM_ZOOM) {
    context.font = `${NAME_PIXELS}px system-ui, sans-serif`;
    // A higher zoom names smaller communes.
    const known = Math.min(base.places.length, Math.round(25 * 2.4 ** (zoom - NAMES_FROM_ZOOM)));
    const others = zoom < ALL_NAMES_FROM_ZOOM ? [] : [...base.communes.values()].flatMap(({ places }) => places);
    const small = others.filter(({ insee }) => !base.placeByInsee.has(insee));
    for (const { name, x, y } of [...base.places.slice(0, known), ...small]) {
      if (occupied.length < NAMES_MAX) write(name, x, y, -6);
    }
  }
  if (zoom >= 8 && zoom <= 10) {
    context.font = `600 ${NAME_PIXELS - 1}px system-ui, sans-serif`;
    context.globalAlpha = 0.55;
    for (const { name, box } of base.outlines.values())
      write(name.toLocaleUpperCase(), (box.minX + box.maxX) / 2, (box.minY + box.maxY) / 2, 0);
    context.globalAlpha = 1;
  }
}
