/**
 * The Leaflet map that the map view, the editor and the points of interest share. It has a canvas for the land, one for
 * search areas and names, one for properties, and layers that an open view adds.
 */

import {
  control,
  divIcon,
  type LatLngLiteral,
  type Map as LeafletMap,
  latLngBounds,
  map as leafletMap,
  marker,
  tileLayer,
} from 'leaflet';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type BaseMap, type Box, loadBaseMap, NO_BASE_MAP, OUTLINES_ATTRIBUTION } from './map/base-map.ts';
import { paintBase, paintLand } from './map/base-painter.ts';
import { CanvasLayer } from './map/canvas-layer.ts';
import { readColours } from './map/colours.ts';
import { COMMUNES_FROM_ZOOM, createCommuneReader } from './map/commune-map.ts';
import { type Dot, paintPins } from './map/pin-painter.ts';
import type { SearchArea } from './map/search-areas.ts';
import { type Observable, observable } from './observable.ts';
import { SETTINGS } from './session.ts';
import type { Words } from './words/language.ts';

export type SharedMap = ReturnType<typeof openSharedMap>;

export const SharedMapContext = createContext<SharedMap | null>(null);

/** Null until the map exists. */
export function useSharedMap(): SharedMap | null {
  return useContext(SharedMapContext);
}

/** Metropolitan France. */
const FRANCE: [[number, number], [number, number]] = [
  [41.3, -5.2],
  [51.1, 9.6],
];
const ZOOM_MAX = 18;

export function openSharedMap(element: HTMLElement) {
  const map = openMap(element);
  const base = observable<BaseMap>(NO_BASE_MAP);
  let colours = readColours();
  const hasTiles = SETTINGS.tilesUrl !== null;
  let areas: readonly SearchArea[] = [];
  let chosen: string | null = null;
  let pins: readonly Dot[] = [];
  const communes = createCommuneReader(base);
  const picture = () => ({ base: base.get(), areas, chosen, colours, hasTiles });
  const below = new CanvasLayer('below', 2, (frame) => paintBase(frame, picture())).addTo(map);
  const land = new CanvasLayer('land', 3, (frame) => {
    if (frame.zoom >= COMMUNES_FROM_ZOOM) communes.readIn(frame.box);
    paintLand(frame, picture());
  });
  if (!hasTiles) land.addTo(map);
  const above = new CanvasLayer('pins', 1, (frame) => paintPins(frame, pins, colours)).addTo(map);
  const fit = createFitting(map);
  fit(latLngBounds(FRANCE));
  const unwatch = watchLooks(element, map, fit, () => {
    colours = readColours();
    for (const layer of [land, below, above]) layer.redraw();
  });
  base.subscribe(() => {
    land.redraw();
    below.redraw();
  });
  loadInto(base);
  return {
    map,
    base,
    /** Reads the communes of departments into `base`; resolves also when that fails. */
    readCommunes: communes.read,
    /** Marks the open item, and moves the map if the item is out of view; null removes the mark. */
    point: createPointer(map),
    /** Labels the map's buttons. */
    name: (words: Words) => nameButtons(element, words),
    showAreas(shown: readonly SearchArea[], which: string | null) {
      [areas, chosen] = [shown, which];
      below.redraw();
    },
    showPins(shown: readonly Dot[]) {
      pins = shown;
      above.redraw();
    },
    /** Null for the whole country. */
    goTo(box: Box | null) {
      if (box === null) return fit(latLngBounds(FRANCE));
      const { minX, minY, maxX, maxY } = box;
      const corner = (x: number, y: number) => map.unproject([x * 256, y * 256], 0);
      fit(latLngBounds(corner(minX, maxY), corner(maxX, minY)));
    },
    close() {
      unwatch();
      map.remove();
    },
  };
}

const AGAIN_MS = 2_000;

/** Retries until the service answers: without the base map, the page shows no land and no commune. */
function loadInto(base: Observable<BaseMap>): void {
  loadBaseMap().then(base.set, () => setTimeout(loadInto, AGAIN_MS, base));
}

/** Opens the map with the operator's tiles or the outlines' attribution, and creates panes for the canvases. */
function openMap(element: HTMLElement): LeafletMap {
  // Between two zooms, tiles and their names would be stretched.
  const zoomSnap = SETTINGS.tilesUrl === null ? 0.5 : 1;
  const bounds = { maxZoom: ZOOM_MAX, minZoom: 3, zoomSnap };
  const zoomAnimation = !matchMedia('(prefers-reduced-motion: reduce)').matches;
  const map = leafletMap(element, { zoomControl: false, attributionControl: false, zoomAnimation, ...bounds });
  control.zoom().addTo(map);
  const attribution = control.attribution({ prefix: false }).addTo(map);
  if (SETTINGS.tilesUrl === null) attribution.addAttribution(OUTLINES_ATTRIBUTION);
  else {
    // Tile servers of OpenStreetMap require a Referer.
    const referrerPolicy = 'strict-origin' as const;
    tileLayer(SETTINGS.tilesUrl, {
      attribution: asText(SETTINGS.tilesAttribution),
      maxZoom: ZOOM_MAX,
      referrerPolicy,
    }).addTo(map);
  }
  map.createPane('land').style.zIndex = '150';
  map.createPane('below').style.zIndex = '350';
  map.createPane('pins').style.zIndex = '450';
  return map;
}

function nameButtons(element: HTMLElement, { zoomIn, zoomOut }: Words): void {
  for (const [button, text] of Object.entries({ in: zoomIn, out: zoomOut })) {
    const link = element.querySelector<HTMLElement>(`.leaflet-control-zoom-${button}`);
    if (link === null) continue;
    link.title = text;
    link.setAttribute('aria-label', text);
  }
}

/** Shows these bounds; null means the bounds that were requested while the map was hidden or zooming. */
type Fit = (bounds: L.LatLngBounds | null) => void;

const FITTING = { maxZoom: 13, padding: [30, 30] as [number, number] };

/** A hidden map has no size to fit bounds into, and a zooming map ignores further moves. */
function createFitting(map: LeafletMap): Fit {
  let waiting: L.LatLngBounds | null = null;
  let isZooming = false;
  const fit: Fit = (bounds) => {
    waiting = bounds ?? waiting;
    if (waiting === null || isZooming) return;
    map.fitBounds(waiting, FITTING);
    if (map.getSize().x > 0) waiting = null;
  };
  map.on('zoomanim', () => {
    isZooming = true;
  });
  map.on('zoomend', () => {
    isZooming = false;
    fit(null);
  });
  return fit;
}

/** Follows the colour scheme and the size of the map. Returns a function that stops it. */
function watchLooks(element: HTMLElement, map: LeafletMap, fit: Fit, onColours: () => void): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', onColours);
  const watcher = new ResizeObserver(() => {
    map.invalidateSize({ animate: false });
    fit(null);
  });
  watcher.observe(element);
  return () => {
    watcher.disconnect();
    dark.removeEventListener('change', onColours);
  };
}

function createPointer(map: LeafletMap): (place: LatLngLiteral | null) => void {
  let pointed: L.Marker | null = null;
  const icon = divIcon({ className: 'pointed', iconSize: [0, 0] });
  return (place) => {
    pointed?.remove();
    pointed = place === null ? null : marker(place, { icon, interactive: false, keyboard: false }).addTo(map);
    if (place !== null && map.getSize().x > 0 && !map.getBounds().contains(place)) map.panTo(place);
  };
}

/** Leaflet interprets an attribution as HTML. */
function asText(text: string): string {
  const element = document.createElement('span');
  element.textContent = text;
  return element.innerHTML;
}
