/**
 * Draws the operator's map of streets: vector tiles by `protomaps-leaflet`, read by ranges from this server. Loaded only
 * where there is one. The library uses the page's Leaflet, from `globalThis.L`.
 */

import {
  CenteredTextSymbolizer,
  type Feature,
  GeomType,
  type LabelRule,
  LineLabelSymbolizer,
  LineSymbolizer,
  leafletLayer,
  type PaintRule,
  PolygonSymbolizer,
} from 'protomaps-leaflet';
import type { Colours } from './colours.ts';

export interface StreetOptions {
  readonly url: string;
  readonly schema: 'openmaptiles' | 'protomaps';
  readonly maxZoom: number;
  readonly bounds: readonly [west: number, south: number, east: number, north: number];
  /** The attribution, as HTML for Leaflet. */
  readonly attribution: string;
  readonly minZoom: number;
  readonly colours: Colours;
  readonly isDark: boolean;
  readonly language: string;
  /** Called when a tile contains the sea: the rest of it is land. */
  onSea(): void;
}

export function streetLayer(options: StreetOptions): L.GridLayer {
  const { url, schema, bounds, attribution, minZoom, colours, isDark, language } = options;
  const [west, south, east, north] = bounds;
  const area: L.LatLngBoundsLiteral = [
    [south, west],
    [north, east],
  ];
  const look = schema === 'protomaps' ? { flavor: isDark ? 'dark' : 'light' } : openMapTilesLook(colours, language);
  // Leaflet's own maximum zoom is meant for raster tiles.
  const extent = { bounds: area, minZoom, maxZoom: 22, maxDataZoom: options.maxZoom };
  const layer = leafletLayer({ url, attribution, lang: language, ...extent, ...look });
  // Outside of the file the outlines are shown.
  layer.backgroundColor = undefined;
  layer.paintRules = [seaWatch(schema, options.onSea), ...layer.paintRules];
  return layer as unknown as L.GridLayer;
}

/** Draws nothing. */
function seaWatch(schema: StreetOptions['schema'], onSea: () => void): PaintRule {
  const member = schema === 'protomaps' ? 'kind' : 'class';
  const filter = (_zoom: number, { props }: Feature): boolean => {
    if (props[member] === 'ocean') onSea();
    return false;
  };
  return { dataLayer: 'water', filter, symbolizer: new PolygonSymbolizer({}) };
}

type Classes = readonly string[];

const GREEN: Classes = ['grass', 'wood', 'farmland', 'forest', 'park', 'cemetery', 'pitch', 'playground', 'stadium'];
const RAILS: Classes = ['rail', 'transit'];
/** Widths in pixels at zoom 10 and 18, from the narrowest to the widest, which is drawn last. */
const ROADS: readonly { classes: Classes; fromZoom: number; widths: readonly [number, number] }[] = [
  { classes: ['path', 'track', 'pedestrian', 'pier'], fromZoom: 15, widths: [0.5, 3] },
  { classes: ['minor', 'service', 'busway', 'raceway', 'living_street'], fromZoom: 12, widths: [0.6, 12] },
  { classes: ['tertiary'], fromZoom: 11, widths: [0.8, 14] },
  { classes: ['secondary'], fromZoom: 9, widths: [1, 16] },
  { classes: ['primary', 'trunk'], fromZoom: 7, widths: [1.4, 18] },
  { classes: ['motorway'], fromZoom: 5, widths: [1.8, 20] },
];

/** Schema of OpenMapTiles 3: layers and classes as https://openmaptiles.org/schema describes them. */
function openMapTilesLook(colours: Colours, language: string): { paintRules: PaintRule[]; labelRules: LabelRule[] } {
  return { paintRules: openMapTilesPaint(colours), labelRules: openMapTilesLabels(colours, language) };
}

function openMapTilesPaint({ sea, green, building, road, roadRim, border }: Colours): PaintRule[] {
  const surfaces = ['landcover', 'landuse', 'park'].map((dataLayer): PaintRule => {
    const isGreen = (_zoom: number, { props }: Feature): boolean => dataLayer === 'park' || isOf(GREEN, props);
    return { dataLayer, filter: isGreen, symbolizer: new PolygonSymbolizer({ fill: green }) };
  });
  const roads = ROADS.map(({ classes, fromZoom: minzoom, widths }) => {
    const filter = (_zoom: number, { props, geomType }: Feature): boolean =>
      geomType === GeomType.Line && isOf(classes, props);
    return { dataLayer: 'transportation', minzoom, filter, widths };
  });
  const line = (color: string, width: (zoom: number) => number): LineSymbolizer =>
    new LineSymbolizer({ color, width, lineCap: 'round', lineJoin: 'round' });
  return [
    ...surfaces,
    { dataLayer: 'water', symbolizer: new PolygonSymbolizer({ fill: sea }) },
    { dataLayer: 'waterway', symbolizer: line(sea, (zoom) => (zoom < 13 ? 1 : 2.5)) },
    { dataLayer: 'building', minzoom: 14, symbolizer: new PolygonSymbolizer({ fill: building }) },
    // All rims before all roads: crossings stay connected.
    ...roads.map(({ widths, ...rule }) => ({
      ...rule,
      symbolizer: line(roadRim, (zoom) => widthAt(widths, zoom) + (zoom < 13 ? 0.8 : 1.6)),
    })),
    ...roads.map(({ widths, ...rule }) => ({ ...rule, symbolizer: line(road, (zoom) => widthAt(widths, zoom)) })),
    {
      dataLayer: 'transportation',
      minzoom: 10,
      filter: (_zoom, { props }) => isOf(RAILS, props),
      symbolizer: new LineSymbolizer({ color: roadRim, dash: [5, 3], dashColor: roadRim, dashWidth: 1.2 }),
    },
    {
      dataLayer: 'boundary',
      filter: (_zoom, { props }) => Number(props.admin_level) <= 6,
      symbolizer: new LineSymbolizer({ color: border, dash: [4, 4], dashColor: border, dashWidth: 1 }),
    },
  ];
}

function isOf(classes: Classes, { class: sent }: Feature['props']): boolean {
  return typeof sent === 'string' && classes.includes(sent);
}

function widthAt([narrow, wide]: readonly [number, number], zoom: number): number {
  const share = Math.max(0, Math.min(1, (zoom - 10) / 8));
  return narrow * (wide / narrow) ** share;
}

/** Earlier labels take precedence. Sizes in pixels. */
const PLACES: readonly { classes: Classes; fromZoom: number; size: number; weight: number }[] = [
  { classes: ['city'], fromZoom: 0, size: 15, weight: 600 },
  { classes: ['town'], fromZoom: 8, size: 14, weight: 600 },
  { classes: ['village'], fromZoom: 11, size: 13, weight: 500 },
  { classes: ['suburb', 'quarter', 'neighbourhood', 'hamlet'], fromZoom: 13, size: 12, weight: 500 },
];

function openMapTilesLabels({ label, halo }: Colours, language: string): LabelRule[] {
  const labelProps = [`name:${language}`, 'name:latin', 'name'];
  const text = { labelProps, fill: label, stroke: halo };
  const places = PLACES.map(({ classes, fromZoom: minzoom, size, weight }): LabelRule => {
    const font = `${weight} ${size}px system-ui, sans-serif`;
    const symbolizer = new CenteredTextSymbolizer({ ...text, font, width: 1.5 });
    return { dataLayer: 'place', minzoom, filter: (_zoom, { props }) => isOf(classes, props), symbolizer };
  });
  const streets = ROADS.toReversed().map(({ classes, fromZoom }): LabelRule => {
    const symbolizer = new LineLabelSymbolizer({ ...text, font: '11px system-ui, sans-serif', width: 3, position: 2 });
    const filter = (_zoom: number, { props }: Feature): boolean => isOf(classes, props);
    return { dataLayer: 'transportation_name', minzoom: Math.max(14, fromZoom + 2), filter, symbolizer };
  });
  return [...places, ...streets];
}
