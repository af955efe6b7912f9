/** Paints the layer under the pins: land, borders, search areas, names. */

import { type BaseMap, type Box, boxesMeet, type Land, type Outline } from './base-map.ts';
import type { Frame } from './canvas-layer.ts';
import type { Colours } from './colours.ts';
import type { AreaShape, SearchArea } from './search-areas.ts';

export interface BasePicture {
  readonly base: BaseMap;
  readonly areas: readonly SearchArea[];
  /** IRI of the chosen search. */
  readonly chosen: string | null;
  readonly colours: Colours;
  /** From this zoom on tiles below show land and names. */
  readonly tilesFromZoom: number;
}

export function paintBase(frame: Frame, picture: BasePicture): void {
  const hasTiles = frame.zoom >= picture.tilesFromZoom;
  paintAreas(frame, picture);
  if (!hasTiles) paintNames(frame, picture);
}

/** Some 600 metres, as far as the outlines are from the shore here and there. */
const SHORE_REACH = 0.00002;
/** Two kilometres: the sources of the two sides of a border differ. */
const BORDER_REACH = 0.00007;
/** Beyond this zoom the outlines are wrong by more than a street. */
const LINES_TO_ZOOM = 12;

/** `filled`: a part of the world that is land wherever nothing else is drawn over it. */
export function paintLand(frame: Frame, { base, colours }: BasePicture, filled: Box | null): void {
  const { context, scale } = frame;
  const fill = ({ rings, box }: Land): void => {
    if (!boxesMeet(box, frame.box)) return;
    trace(context, frame, rings);
    context.fill('evenodd');
    context.stroke();
  };
  context.lineJoin = 'round';
  context.lineCap = 'butt';
  context.fillStyle = context.strokeStyle = colours.land;
  context.lineWidth = BORDER_REACH * scale;
  strokeLines(frame, base.borders);
  context.lineWidth = 1;
  for (const land of base.neighbours) fill(land);
  // Around a drawn area the shore counts as land: the outlines would cut off harbours.
  context.lineWidth = SHORE_REACH * scale;
  for (const outline of base.outlines.values()) fill(outline);
  context.strokeStyle = colours.border;
  if (frame.zoom <= LINES_TO_ZOOM) {
    context.lineWidth = 1;
    strokeLines(frame, base.divisions);
    context.lineWidth = 2;
    strokeLines(frame, base.borders);
  }
  if (filled === null) return;
  const { minX, minY, maxX, maxY } = filled;
  const [left, top] = [minX * scale - frame.originX, minY * scale - frame.originY];
  context.fillRect(left, top, (maxX - minX) * scale, (maxY - minY) * scale);
}

function strokeLines(frame: Frame, lines: readonly Float64Array[]): void {
  for (const line of lines) {
    trace(frame.context, frame, [line], false);
    frame.context.stroke();
  }
}

/** Corners less than a pixel from the one before are left out: a coast has thousands. */
function trace(
  context: CanvasRenderingContext2D,
  { scale, originX, originY }: Omit<Frame, 'context'>,
  rings: readonly Float64Array[],
  isClosed = true,
): void {
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

/** Each department once for all searches; the chosen search last, over the others. */
function paintAreas(frame: Frame, { areas, chosen, colours }: BasePicture): void {
  const { context } = frame;
  const departments = new Set<string>();
  const visible = areas.filter(({ box }) => box !== null && boxesMeet(box, frame.box));
  // Many overlapping fills would hide the map.
  context.globalAlpha = visible.length > 50 ? 0.03 : 0.1;
  context.fillStyle = context.strokeStyle = colours.area;
  context.lineWidth = 1.25;
  for (const { shapes, search } of visible) {
    if (search === chosen) continue;
    for (const shape of shapes) {
      if (shape.type === 'department' && departments.has(shape.code)) continue;
      if (shape.type === 'department') departments.add(shape.code);
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

const COMMUNE_PIXELS = 9;

function paintShape({ context, ...frame }: Frame, shape: AreaShape, strokeAlpha: number): void {
  if (shape.type === 'circle' || shape.type === 'commune') {
    const radius = shape.type === 'circle' ? Math.max(3, shape.radius * frame.scale) : COMMUNE_PIXELS;
    context.beginPath();
    context.arc(shape.x * frame.scale - frame.originX, shape.y * frame.scale - frame.originY, radius, 0, 2 * Math.PI);
  } else {
    trace(context, frame, shape.rings);
  }
  context.fill('evenodd');
  const before = context.globalAlpha;
  context.globalAlpha = strokeAlpha;
  context.stroke();
  context.globalAlpha = before;
}

const NAMES_MAX = 90;
const NAME_PIXELS = 12;
/** Departments are named below this zoom, the largest communes from it on. */
const COMMUNES_FROM_ZOOM = 6;

function paintNames(frame: Frame, { base, colours }: BasePicture): void {
  const { context, zoom } = frame;
  const taken: { x: number; y: number; half: number }[] = [];
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
    const isTaken = taken.some(
      (one) => Math.abs(one.x - x) < one.half + half + 6 && Math.abs(one.y - y) < NAME_PIXELS * 1.7,
    );
    if (isTaken) return;
    taken.push({ x, y, half });
    context.strokeText(name, x, y);
    context.fillText(name, x, y);
  };
  if (zoom >= COMMUNES_FROM_ZOOM) {
    context.font = `${NAME_PIXELS}px system-ui, sans-serif`;
    // A higher zoom names smaller communes.
    const known = Math.min(base.places.length, Math.round(25 * 2.4 ** (zoom - COMMUNES_FROM_ZOOM)));
    for (let at = 0; at < known && taken.length < NAMES_MAX; at++) {
      const place = base.places[at];
      if (place !== undefined) write(place.name, place.x, place.y, -6);
    }
  }
  if (zoom >= 8 && zoom <= 10) {
    context.font = `600 ${NAME_PIXELS - 1}px system-ui, sans-serif`;
    context.globalAlpha = 0.55;
    for (const { name, box } of base.outlines.values()) writeMiddle(name, box, write);
    context.globalAlpha = 1;
  }
}

function writeMiddle(name: string, { minX, maxX, minY, maxY }: Outline['box'], write: WriteName): void {
  write(name.toLocaleUpperCase(), (minX + maxX) / 2, (minY + maxY) / 2, 0);
}

type WriteName = (name: string, worldX: number, worldY: number, dy: number) => void;
