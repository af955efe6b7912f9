/**
 * The nearest points of several trees within a radius, nearest first. Boxes are visited by their distance, all trees at
 * once; found points wait unsorted until there are half as many again as requested, when the farther ones are dropped
 * and the radius shrinks. Chords distinguish nearly all points; those too close to call are decided by `distanceKm`, so
 * order and border are exactly those of the great circle.
 */

import { distanceKm, EARTH_RADIUS_KM } from '../../domain/geo.ts';
import type { PointOfInterest } from '../../domain/point-of-interest.ts';
import type { PointTree } from './point-tree.ts';

export interface Circumference {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
  /** The border is inside. */
  readonly radiusKm: number;
}

/** Results that may be asked for at once. */
export const NEAREST_MAX = 4096;
const FOUND_MAX = 2 * NEAREST_MAX;
/** The last bits of a squared chord make room for the place of the point among those found. */
const PLACE_BITS = FOUND_MAX - 1;
/** Kept beyond the limit, in case the last ones are too close to call. */
const SPARE = 16;
/** Rounding of a squared chord: of its bits given away, and of the vectors (a hundred-millionth of a micrometre, times the chord). */
const ROUNDING = 2 ** -38;
const VECTOR_ROUNDING = 1e-14;
const ROUNDING_MIN = 1e-28;
const RADIANS = Math.PI / 180;

/** Squared chords of what is found, each with its place; scratch memory of the query at hand, like all below. */
const found = new Float64Array(FOUND_MAX);
const foundWords = new Uint32Array(found.buffer);
const positions = new Int32Array(FOUND_MAX);
/** A heap of the boxes yet to be visited, nearest first. */
let waitingChords = new Float64Array(256);
let waitingNodes = new Int32Array(256);
let waitingCount = 0;

/** At most `limit` of them, itself at most `NEAREST_MAX`. `pointAt`: by position in the tree. */
export function nearestPoints(
  tree: PointTree,
  roots: readonly number[],
  within: Circumference,
  limit: number,
  pointAt: (position: number) => PointOfInterest,
): PointOfInterest[] {
  const { lat, lon, radiusKm } = within;
  const chord = 2 * Math.sin(Math.min(Math.PI, radiusKm / EARTH_RADIUS_KM) / 2);
  const margin = 1e-9 * chord * chord + VECTOR_ROUNDING * chord + ROUNDING_MIN;
  const count = collect(tree, roots, lat, lon, chord * chord + margin, Math.min(limit, NEAREST_MAX) + SPARE);
  found.subarray(0, count).sort();
  const apart = (point: PointOfInterest): number => distanceKm(lat, lon, point.lat, point.lon);
  const points: PointOfInterest[] = [];
  const sureBelow = chord * chord - margin;
  let before = -1;
  for (let i = 0; i < count; i++) {
    const squaredChord = found[i] as number;
    const point = pointAt(positions[(foundWords[2 * i] as number) & PLACE_BITS] as number);
    if (squaredChord >= sureBelow && apart(point) > radiusKm) continue;
    let place = points.push(point) - 1;
    if (squaredChord - before <= squaredChord * ROUNDING + VECTOR_ROUNDING * chord + ROUNDING_MIN) {
      const distance = apart(point);
      for (; place > 0 && apart(points[place - 1] as PointOfInterest) > distance; place--) {
        points[place] = points[place - 1] as PointOfInterest;
      }
      points[place] = point;
    }
    before = squaredChord;
  }
  if (points.length > limit) points.length = limit;
  return points;
}

/** Leaves the `keep` nearest points within `reach`, a squared chord, in `found`, in no order; returns how many they are. */
function collect(tree: PointTree, roots: readonly number[], lat: number, lon: number, reach: number, keep: number) {
  const { xs, ys, zs } = tree;
  const x = Math.cos(lat * RADIANS) * Math.cos(lon * RADIANS);
  const y = Math.cos(lat * RADIANS) * Math.sin(lon * RADIANS);
  const z = Math.sin(lat * RADIANS);
  const foundMax = Math.min(FOUND_MAX, keep + (keep >> 1));
  let bound = reach;
  let count = 0;
  waitingCount = 0;
  for (const root of roots) putBy(root, tree.squaredChordTo(root, x, y, z), bound);
  while (waitingCount > 0 && (waitingChords[0] as number) <= bound) {
    const node = leafBelow(tree, takeNearest(), x, y, z, bound);
    if (node === NO_NODE) continue;
    const end = tree.endOf(node);
    for (let position = tree.startOf(node); position < end; position++) {
      const dx = (xs[position] as number) - x;
      const dy = (ys[position] as number) - y;
      const dz = (zs[position] as number) - z;
      const squaredChord = dx * dx + dy * dy + dz * dz;
      if (squaredChord > bound) continue;
      if (count === foundMax) {
        bound = dropFarther(count, keep) * (1 + ROUNDING);
        count = keep;
      }
      put(count++, squaredChord, position);
    }
  }
  if (count <= keep) return count;
  dropFarther(count, keep);
  return keep;
}

const NO_NODE = -1;

/** The nearest leaf of the node, as far as boxes show; the others on the way are put by. `NO_NODE` when all are beyond `bound`. */
function leafBelow(tree: PointTree, from: number, x: number, y: number, z: number, bound: number): number {
  let node = from;
  for (let second = tree.secondChildOf(node); second !== 0; second = tree.secondChildOf(node)) {
    const first = node + 1;
    const toFirst = tree.squaredChordTo(first, x, y, z);
    const toSecond = tree.squaredChordTo(second, x, y, z);
    if (toFirst <= toSecond) {
      if (toFirst > bound) return NO_NODE;
      putBy(second, toSecond, bound);
      node = first;
    } else {
      if (toSecond > bound) return NO_NODE;
      putBy(first, toFirst, bound);
      node = second;
    }
  }
  return node;
}

function put(place: number, squaredChord: number, position: number): void {
  found[place] = squaredChord;
  // Little-endian, as every machine that Node.js runs on: the low word comes first.
  foundWords[2 * place] = ((foundWords[2 * place] as number) & ~PLACE_BITS) | place;
  positions[place] = position;
}

/** Keeps the `keep` nearest of `count`, numbered anew; returns the farthest of them. */
function dropFarther(count: number, keep: number): number {
  select(keep - 1, count);
  const farthest = found[keep - 1] as number;
  for (let place = 0; place < keep; place++)
    keptPositions[place] = positions[(foundWords[2 * place] as number) & PLACE_BITS] as number;
  for (let place = 0; place < keep; place++) put(place, found[place] as number, keptPositions[place] as number);
  return farthest;
}

const keptPositions = new Int32Array(FOUND_MAX);

/** Brings the `nth` smallest of `count` to its place, smaller ones before it (C. A. R. Hoare, "Find", 1961). */
function select(nth: number, count: number): void {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const pivot = found[(low + high) >> 1] as number;
    let left = low;
    let right = high;
    while (left <= right) {
      while ((found[left] as number) < pivot) left += 1;
      while ((found[right] as number) > pivot) right -= 1;
      if (left > right) break;
      const kept = found[left] as number;
      found[left++] = found[right] as number;
      found[right--] = kept;
    }
    if (nth <= right) high = right;
    else if (nth >= left) low = left;
    else return;
  }
}

/** Puts the node by, unless it is beyond `bound`. */
function putBy(node: number, squaredChord: number, bound: number): void {
  if (squaredChord > bound) return;
  if (waitingCount === waitingNodes.length) {
    const [chords, nodes] = [new Float64Array(2 * waitingCount), new Int32Array(2 * waitingCount)];
    chords.set(waitingChords);
    nodes.set(waitingNodes);
    waitingChords = chords;
    waitingNodes = nodes;
  }
  let at = waitingCount++;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if ((waitingChords[parent] as number) <= squaredChord) break;
    waitingChords[at] = waitingChords[parent] as number;
    waitingNodes[at] = waitingNodes[parent] as number;
    at = parent;
  }
  waitingChords[at] = squaredChord;
  waitingNodes[at] = node;
}

function takeNearest(): number {
  const nearest = waitingNodes[0] as number;
  const squaredChord = waitingChords[--waitingCount] as number;
  const node = waitingNodes[waitingCount] as number;
  let at = 0;
  for (let child = 1; child < waitingCount; child = 2 * at + 1) {
    const other = child + 1;
    if (other < waitingCount && (waitingChords[other] as number) < (waitingChords[child] as number)) child = other;
    if ((waitingChords[child] as number) >= squaredChord) break;
    waitingChords[at] = waitingChords[child] as number;
    waitingNodes[at] = waitingNodes[child] as number;
    at = child;
  }
  waitingChords[at] = squaredChord;
  waitingNodes[at] = node;
  return nearest;
}
