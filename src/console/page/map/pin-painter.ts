/** Paints matches, ten thousand of them in some milliseconds: each kind of pin is drawn once, and stamped. */

import type { Pin } from '../pins.ts';
import type { Frame } from './canvas-layer.ts';
import type { Colours } from './colours.ts';

export interface PinPicture {
  /** Newest first. */
  readonly pins: readonly Dot[];
  readonly colours: Colours;
}

export type PinKind = 'sale' | 'rent' | 'expired';

/** The painted members of a pin. */
export type Dot = Pick<Pin, 'x' | 'y' | 'transactionType' | 'isExpired'>;

export function kindOf({ isExpired, transactionType }: Omit<Dot, 'x' | 'y'>): PinKind {
  if (isExpired) return 'expired';
  return transactionType === 1 ? 'rent' : 'sale';
}

/**
 * Paints the oldest first, so that the newest lie on top. Of pins that nearly cover each other only the newest is painted,
 * on whole pixels, where a stamp is copied without resampling.
 */
export function paintPins(frame: Frame, { pins, colours }: PinPicture): void {
  const { context, scale, originX, originY, zoom } = frame;
  const radius = zoom < 7 ? 4 : zoom < 10 ? 5 : 6.5;
  const stamps = { sale: stamp(colours.sale, colours.rim, radius), rent: stamp(colours.rent, colours.rim, radius) };
  const all = { ...stamps, expired: stamp(colours.expired, colours.rim, radius * 0.8) };
  const shown = uncovered(frame, pins, radius);
  context.imageSmoothingEnabled = false;
  for (let at = shown.length - 1; at >= 0; at--) {
    const pin = shown[at] as PlacedPin;
    const left = Math.round(pin.x * scale - originX - SIDE / 2);
    context.drawImage(all[kindOf(pin)], left, Math.round(pin.y * scale - originY - SIDE / 2), SIDE, SIDE);
  }
}

type PlacedPin = Dot & { readonly x: number; readonly y: number };

/** The pins in the picture that are the newest of their kind in a square of a pin's radius. */
function uncovered(
  { scale, originX, originY, width, height, box }: Frame,
  pins: readonly Dot[],
  radius: number,
): readonly PlacedPin[] {
  const columns = Math.ceil(width / radius) + 1;
  const taken = { sale: new Uint8Array(columns * (Math.ceil(height / radius) + 1)) };
  const squares = { ...taken, rent: taken.sale.slice(), expired: taken.sale.slice() };
  const shown: PlacedPin[] = [];
  for (const pin of pins) {
    const { x, y } = pin;
    if (x === null || y === null || x < box.minX || x > box.maxX || y < box.minY || y > box.maxY) continue;
    const row = Math.floor((y * scale - originY) / radius);
    const square = row * columns + Math.floor((x * scale - originX) / radius);
    const ofKind = squares[kindOf(pin)];
    if (ofKind[square] === 1) continue;
    ofKind[square] = 1;
    shown.push(pin as PlacedPin);
  }
  return shown;
}

/** Pixels of a stamp, rim included. */
const SIDE = 18;

function stamp(fill: string, rim: string, radius: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  const density = window.devicePixelRatio;
  canvas.width = canvas.height = SIDE * density;
  const context = canvas.getContext('2d');
  if (context === null) return canvas;
  context.scale(density, density);
  context.beginPath();
  context.arc(SIDE / 2, SIDE / 2, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = rim;
  context.lineWidth = 1.5;
  context.stroke();
  return canvas;
}

/** Pins within `reach` pixels of a point, the nearest first. */
export function pinsNear(pins: readonly Pin[], x: number, y: number, reach: number): readonly Pin[] {
  const near: { readonly pin: Pin; readonly distance: number }[] = [];
  for (const pin of pins) {
    if (pin.x === null || pin.y === null) continue;
    const distance = Math.hypot(pin.x - x, pin.y - y);
    if (distance <= reach) near.push({ pin, distance });
  }
  return near.sort((a, b) => a.distance - b.distance).map(({ pin }) => pin);
}
