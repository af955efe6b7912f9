/** Paints ten thousand matches in a few milliseconds: each kind of pin is drawn once and copied as a stamp. */

import type { Pin } from '../pins.ts';
import type { Frame } from './canvas-layer.ts';
import type { Colours } from './colours.ts';

export const PIN_KINDS = ['sale', 'rent', 'expired'] as const;
export type PinKind = (typeof PIN_KINDS)[number];

/** The painted members of a pin. */
export type Dot = Pick<Pin, 'x' | 'y' | 'transactionType' | 'isExpired' | 'isNew'>;

export function kindOf({ isExpired, transactionType }: Omit<Dot, 'x' | 'y'>): PinKind {
  if (isExpired) return 'expired';
  return transactionType === 1 ? 'rent' : 'sale';
}

/**
 * `pins`: in the order of the list. The first are painted last, on top. If pins of a kind nearly cover each other, only
 * the first is painted. Pins are placed on whole pixels, so that stamps need no resampling.
 */
export function paintPins(frame: Frame, pins: readonly Dot[], colours: Colours): void {
  const { context, scale, originX, originY, zoom } = frame;
  const radius = zoom < 7 ? 4 : zoom < 10 ? 5 : 6.5;
  const stampsWith = (rim: string, rimPixels: number) => ({
    sale: stamp(colours.sale, radius, rim, rimPixels),
    rent: stamp(colours.rent, radius, rim, rimPixels),
    expired: stamp(colours.expired, radius * 0.8, rim, rimPixels),
  });
  const known = stampsWith(colours.rim, 1.5);
  const fresh = stampsWith(colours.chosen, 3);
  const shown = uncovered(frame, pins, radius);
  context.imageSmoothingEnabled = false;
  for (let at = shown.length - 1; at >= 0; at--) {
    const pin = shown[at] as PlacedPin;
    const left = Math.round(pin.x * scale - originX - SIDE / 2);
    context.drawImage(
      (pin.isNew === true ? fresh : known)[kindOf(pin)],
      left,
      Math.round(pin.y * scale - originY - SIDE / 2),
      SIDE,
      SIDE,
    );
  }
}

type PlacedPin = Dot & { readonly x: number; readonly y: number };

/** The pins in the picture that are the first of their kind in a square of a pin's radius. */
function uncovered(
  { scale, originX, originY, width, height, box }: Frame,
  pins: readonly Dot[],
  radius: number,
): readonly PlacedPin[] {
  const columns = Math.ceil(width / radius) + 1;
  const occupied = { sale: new Uint8Array(columns * (Math.ceil(height / radius) + 1)) };
  const squares = { ...occupied, rent: occupied.sale.slice(), expired: occupied.sale.slice() };
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

/** Pixels of a stamp with its rim. */
const SIDE = 18;

function stamp(fill: string, radius: number, rim: string, rimPixels: number): HTMLCanvasElement {
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
  context.lineWidth = rimPixels;
  context.stroke();
  return canvas;
}

/** Pins within `reach` of a point, the nearest first. All lengths are in world coordinates. */
export function pinsNear(pins: readonly Pin[], x: number, y: number, reach: number): readonly Pin[] {
  const near: { readonly pin: Pin; readonly distance: number }[] = [];
  for (const pin of pins) {
    if (pin.x === null || pin.y === null) continue;
    const distance = Math.hypot(pin.x - x, pin.y - y);
    if (distance <= reach) near.push({ pin, distance });
  }
  return near.sort((a, b) => a.distance - b.distance).map(({ pin }) => pin);
}
