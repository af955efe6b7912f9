/**
 * A Leaflet layer with a single canvas. Ten thousand pins as Leaflet objects would take a tenth of a second for each
 * move. Here they are painted from a list after a move, with a margin for the next move. During a zoom, the picture is
 * stretched as tiles are.
 */

import { DomUtil, Layer, type Map as LeafletMap, type ZoomAnimEvent } from 'leaflet';
import type { Box } from './base-map.ts';

/** The surface that painters use. Pixels are world coordinates times `scale`, minus the origin. */
export interface Frame {
  readonly context: CanvasRenderingContext2D;
  readonly zoom: number;
  /** The side of the world in pixels. */
  readonly scale: number;
  readonly originX: number;
  readonly originY: number;
  readonly width: number;
  readonly height: number;
  /** Bounds of the picture in world coordinates. */
  readonly box: Box;
}

export type Paint = (frame: Frame) => void;

/** The margin on each side, as a share of the map's size. */
const MARGIN = 0.2;
const TILE_PIXELS = 256;

export class CanvasLayer extends Layer {
  readonly #canvas = document.createElement('canvas');
  readonly #paint: Paint;
  readonly #pane: string;
  readonly #frames: number;
  #map: LeafletMap | null = null;
  #requested = 0;
  /** The centre and zoom of the picture. */
  #painted: { readonly center: L.LatLng; readonly zoom: number } | null = null;

  /** `frames`: the number of animation frames between a request and the painting. */
  constructor(pane: string, frames: number, paint: Paint) {
    super();
    this.#frames = frames;
    this.#pane = pane;
    this.#paint = paint;
    this.#canvas.className = 'leaflet-zoom-animated';
    this.#canvas.setAttribute('aria-hidden', 'true');
  }

  override onAdd(map: LeafletMap): this {
    this.#map = map;
    map.getPane(this.#pane)?.append(this.#canvas);
    this.redraw();
    return this;
  }

  override onRemove(): this {
    cancelAnimationFrame(this.#requested);
    this.#requested = 0;
    this.#map = null;
    this.#canvas.remove();
    return this;
  }

  override getEvents(): Record<string, L.LeafletEventHandlerFn> {
    return {
      // Also follows each `resize` and `viewreset`.
      moveend: () => this.redraw(),
      zoomanim: (event) => this.#stretch(event),
    };
  }

  /** Paints once in a later frame for all requests until then. Each layer has its own frame. */
  redraw(): void {
    if (this.#requested === 0) this.#await(this.#frames);
  }

  #await(frames: number): void {
    this.#requested = requestAnimationFrame(() => {
      this.#requested = 0;
      if (frames > 1) this.#await(frames - 1);
      else this.#draw();
    });
  }

  #draw(): void {
    const map = this.#map;
    const context = this.#canvas.getContext('2d');
    if (map === null || context === null) return;
    const size = map.getSize();
    const margin = size.multiplyBy(MARGIN).round();
    const { x: width, y: height } = size.add(margin.multiplyBy(2));
    if (width === 0 || height === 0) return;
    const density = window.devicePixelRatio;
    if (this.#canvas.width !== Math.round(width * density) || this.#canvas.height !== Math.round(height * density)) {
      this.#canvas.width = Math.round(width * density);
      this.#canvas.height = Math.round(height * density);
      this.#canvas.style.width = `${width}px`;
      this.#canvas.style.height = `${height}px`;
    }
    const topLeft = map.containerPointToLayerPoint(margin.multiplyBy(-1));
    DomUtil.setTransform(this.#canvas, topLeft, 1);
    const origin = topLeft.add(map.getPixelOrigin());
    const zoom = map.getZoom();
    const scale = TILE_PIXELS * 2 ** zoom;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    const [minX, minY] = [origin.x / scale, origin.y / scale];
    const box = { minX, minY, maxX: minX + width / scale, maxY: minY + height / scale };
    this.#painted = { center: map.getCenter(), zoom };
    this.#paint({ context, zoom, scale, originX: origin.x, originY: origin.y, width, height, box });
  }

  /** Moves and scales the picture to its position after the zoom. */
  #stretch(event: L.LeafletEvent): void {
    const { center, zoom } = event as ZoomAnimEvent;
    const map = this.#map;
    if (map === null || this.#painted === null) return;
    const scale = map.getZoomScale(zoom, this.#painted.zoom);
    const half = map.getSize().multiplyBy(0.5 + MARGIN);
    const panePlace = DomUtil.getPosition(map.getPane('mapPane') as HTMLElement);
    const newOrigin = map.project(center, zoom).subtract(map.getSize().divideBy(2)).add(panePlace).round();
    const topLeft = half.multiplyBy(-scale).add(map.project(this.#painted.center, zoom)).subtract(newOrigin);
    DomUtil.setTransform(this.#canvas, topLeft, scale);
  }
}
