/** Paints what lies under the pins: land, borders, where searches look, names. */

import { type BaseMap, boxesMeet, type Outline } from './base-map.ts';
import type { Frame } from './canvas-layer.ts';
import type { Colours } from './colours.ts';
import type { AreaShape, SearchArea } from './search-areas.ts';

export interface BasePicture {
  readonly base: BaseMap;
  readonly areas: readonly SearchArea[];
  /** IRI of the search that is chosen. */
  readonly chosen: string | null;
  readonly colours: Colours;
  /** Tiles lie below: they have land and names of their own. */
  readonly hasTiles: boolean;
}

export function paintBase(frame: Frame, picture: BasePicture): void {
  if (!picture.hasTiles) paintLand(frame, picture);
  paintAreas(frame, picture);
  if (!picture.hasTiles) paintNames(frame, picture);
}

function paintLand({ context, ...frame }: Frame, { base, colours }: BasePicture): void {
  context.fillStyle = colours.land;
  context.strokeStyle = colours.border;
  context.lineWidth = 1;
  for (const { rings, box } of base.outlines.values()) {
    if (!boxesMeet(box, frame.box)) continue;
    trace(context, frame, rings);
    context.fill('evenodd');
    context.stroke();
  }
}

/** Corners less than a pixel from the one before are left out: a coast has thousands. */
function trace(
  context: CanvasRenderingContext2D,
  { scale, originX, originY }: Omit<Frame, 'context'>,
  rings: readonly Float64Array[],
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
    context.closePath();
  }
}

/** Departments once, however many searches look there; the chosen search last, over the others. */
function paintAreas(frame: Frame, { areas, chosen, colours }: BasePicture): void {
  const { context } = frame;
  const departments = new Set<string>();
  const visible = areas.filter(({ box }) => box !== null && boxesMeet(box, frame.box));
  // Many fills over each other would hide the map.
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
/** Below it departments are named, and the largest communes from it on. */
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
    // The smaller the part of the country, the smaller the communes that are named.
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
