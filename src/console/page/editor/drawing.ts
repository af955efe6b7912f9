/**
 * Circles and polygons, drawn on the map and changed by their handles. Two clicks draw a circle. A polygon takes a
 * click for each corner, and ends with a click on the first one, Enter or a double click.
 */

import {
  circle,
  divIcon,
  type LatLng,
  type LatLngLiteral,
  type Map as LeafletMap,
  type LeafletMouseEvent,
  layerGroup,
  type Marker,
  marker,
  polygon,
  polyline,
} from 'leaflet';
import type { Ring } from '../documents.ts';

export interface DrawnCircle {
  readonly lat: number;
  readonly lon: number;
  readonly radiusKm: number;
}

interface Corner {
  readonly lat: number;
  readonly lng: number;
}

/** Decimals of a coordinate: a tenth of a metre. */
const DECIMALS = 6;
const METRES = 1_000;
/** A polygon with more corners has no handles, because they would hide it. */
const HANDLES_MAX = 120;
const CLOSING_PIXELS = 12;

function handle(place: LatLngLiteral, className = 'handle'): Marker {
  return marker(place, {
    icon: divIcon({ className, iconSize: [16, 16] }),
    draggable: true,
    keyboard: false,
    autoPan: true,
  });
}

function rounded(value: number): number {
  return Number(value.toFixed(DECIMALS));
}

/** Returns a function that removes the circle. `onChange` is called when a handle is released. */
export function showCircle(map: LeafletMap, drawn: DrawnCircle, onChange: (drawn: DrawnCircle) => void): () => void {
  const center = { lat: drawn.lat, lng: drawn.lon };
  const shape = circle(center, { radius: drawn.radiusKm * METRES, className: 'draft', interactive: false });
  const middle = handle(center, 'handle handle-center');
  const group = layerGroup([shape, middle]).addTo(map);
  const edge = handle(eastOf(shape.getBounds().getEast(), center)).addTo(group);
  const report = (): void => {
    const { lat, lng } = shape.getLatLng().wrap();
    onChange({ lat: rounded(lat), lon: rounded(lng), radiusKm: radiusOf(shape.getRadius()) });
  };
  middle.on('drag', () => {
    shape.setLatLng(middle.getLatLng());
    edge.setLatLng(eastOf(shape.getBounds().getEast(), middle.getLatLng()));
  });
  edge.on('drag', () => shape.setRadius(map.distance(shape.getLatLng(), edge.getLatLng())));
  middle.on('dragend', report);
  edge.on('dragend', report);
  return () => void group.remove();
}

function eastOf(lng: number, { lat }: Corner): LatLngLiteral {
  return { lat, lng };
}

/** Kilometres with two decimals, at least ten metres. */
function radiusOf(metres: number): number {
  return Math.max(0.01, Number((metres / METRES).toFixed(2)));
}

export function showPolygons(
  map: LeafletMap,
  shapes: readonly (readonly Ring[])[],
  className: string,
  onChange: (shapes: readonly (readonly Ring[])[]) => void,
): () => void {
  const group = layerGroup().addTo(map);
  for (const [at, rings] of shapes.entries()) {
    const corners = rings.map((ring) => ring.slice(0, -1).map(([lng, lat]) => ({ lat, lng })));
    const shape = polygon(corners, { className, interactive: false }).addTo(group);
    const [outer = []] = corners;
    if (outer.length > HANDLES_MAX) continue;
    for (const [corner, place] of outer.entries()) {
      const grip = handle(place).addTo(group);
      grip.on('drag', () => {
        outer[corner] = { lat: grip.getLatLng().lat, lng: grip.getLatLng().lng };
        shape.setLatLngs(corners);
      });
      grip.on('dragend', () => onChange(shapes.with(at, [ringOf(outer), ...rings.slice(1)])));
    }
  }
  return () => void group.remove();
}

function ringOf(corners: readonly Corner[]): Ring {
  const open = corners.map(({ lat, lng }): readonly [number, number] => [rounded(lng), rounded(lat)]);
  return [...open, open[0] as readonly [number, number]];
}

/** Returns a function that ends the drawing. */
export function drawCircle(map: LeafletMap, onDrawn: (drawn: DrawnCircle) => void): () => void {
  const shape = circle([0, 0], { radius: 0, className: 'draft', interactive: false });
  let center: LatLng | null = null;
  const grow = ({ latlng }: LeafletMouseEvent): void => {
    if (center !== null) shape.setRadius(map.distance(center, latlng));
  };
  const click = ({ latlng }: LeafletMouseEvent): void => {
    if (center === null) {
      center = latlng;
      shape.setLatLng(latlng).setRadius(0).addTo(map);
      return;
    }
    grow({ latlng } as LeafletMouseEvent);
    const { lat, lng } = center.wrap();
    end();
    onDrawn({ lat: rounded(lat), lon: rounded(lng), radiusKm: radiusOf(shape.getRadius()) });
  };
  const end = beginDrawing(map, { click, mousemove: grow }, () => shape.remove());
  return end;
}

export function drawPolygon(map: LeafletMap, onDrawn: (ring: Ring) => void): () => void {
  const corners: LatLng[] = [];
  const line = polyline([], { className: 'draft', interactive: false }).addTo(map);
  const finish = (): void => {
    if (corners.length < 3) return;
    end();
    onDrawn(ringOf(corners));
  };
  const click = ({ latlng }: LeafletMouseEvent): void => {
    const [first] = corners;
    const isClosing =
      first !== undefined &&
      map.latLngToContainerPoint(first).distanceTo(map.latLngToContainerPoint(latlng)) < CLOSING_PIXELS;
    if (isClosing && corners.length >= 3) return finish();
    corners.push(latlng.wrap());
    line.setLatLngs(corners);
  };
  const mousemove = ({ latlng }: LeafletMouseEvent): void => void line.setLatLngs([...corners, latlng]);
  const press = ({ key }: KeyboardEvent): void => {
    if (key === 'Enter') finish();
  };
  document.addEventListener('keydown', press);
  const end = beginDrawing(map, { click, mousemove, dblclick: finish }, () => {
    document.removeEventListener('keydown', press);
    line.remove();
  });
  return end;
}

function beginDrawing(map: LeafletMap, handlers: L.LeafletEventHandlerFnMap, clear: () => void): () => void {
  map.doubleClickZoom.disable();
  map.getContainer().classList.add('drawing');
  map.on(handlers);
  return () => {
    map.off(handlers);
    map.doubleClickZoom.enable();
    map.getContainer().classList.remove('drawing');
    clear();
  };
}
