/**
 * Points on the sphere as unit vectors under trees of boxes, one tree a group of points. In space there is no pole and no
 * date line, and the square of a chord orders places as the great circle does, without an angle to be worked out. A box
 * is cut in the middle of its longest side, so building is nothing but passes over stretches of columns: it goes in steps.
 */

/** Points at which a box is no longer cut. */
const LEAF_POINTS = 24;
/** Points that a step goes over: a fraction of a millisecond. */
const STEP_POINTS = 1 << 14;
/** Boxes are stored in single precision, wider by more than its rounding. */
const BOX_MARGIN = 1e-7;
const BOX_NUMBERS = 6;
const RADIANS = Math.PI / 180;

/** Where the points of a node are, its second child (the first follows it), 0 for a leaf. */
const START = 0;
const END = 1;
const SECOND_CHILD = 2;
const NODE_INTEGERS = 4;

/** In shared memory for the reason given in `shared-memory`. */
function sharedFloats(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(8 * length));
}

export class PointTree {
  /** Unit vectors, in the order of the trees once they are built. */
  readonly xs: Float64Array;
  readonly ys: Float64Array;
  readonly zs: Float64Array;
  /** Which of the points given each one is. */
  readonly numbers: Int32Array;
  #boxes: Float32Array;
  #nodes: Int32Array;
  #nodeCount = 0;
  #work = 0;
  readonly #box = new Float64Array(BOX_NUMBERS);

  constructor(pointCount: number) {
    this.xs = sharedFloats(pointCount);
    this.ys = sharedFloats(pointCount);
    this.zs = sharedFloats(pointCount);
    this.numbers = new Int32Array(new SharedArrayBuffer(4 * pointCount));
    // More than there have ever been, and memory only where it is written: to grow is to copy.
    const nodeCount = 1024 + (pointCount >> 2);
    this.#nodes = new Int32Array(new SharedArrayBuffer(4 * NODE_INTEGERS * nodeCount));
    this.#boxes = new Float32Array(new SharedArrayBuffer(4 * BOX_NUMBERS * nodeCount));
  }

  /** Degrees. Each position is set once, before the trees over it are built. */
  set(position: number, number: number, lat: number, lon: number): void {
    const cosine = Math.cos(lat * RADIANS);
    this.xs[position] = cosine * Math.cos(lon * RADIANS);
    this.ys[position] = cosine * Math.sin(lon * RADIANS);
    this.zs[position] = Math.sin(lat * RADIANS);
    this.numbers[position] = number;
  }

  /** A tree of the points from `start` to `end`, at least one, which it reorders; in short steps. Returns its root. */
  *build(start: number, end: number): Generator<null, number> {
    const node = this.#addNode(start, end);
    const box = this.#box;
    box.fill(Infinity, 0, 3).fill(-Infinity, 3);
    for (let at = start; at < end; at += STEP_POINTS) {
      this.#widen(at, Math.min(end, at + STEP_POINTS));
      if (this.#isStepDone(Math.min(end - at, STEP_POINTS))) yield null;
    }
    for (let side = 0; side < BOX_NUMBERS; side++) {
      this.#boxes[node * BOX_NUMBERS + side] = (box[side] as number) + (side < 3 ? -BOX_MARGIN : BOX_MARGIN);
    }
    const axis = longestAxis(box);
    const middle = ((box[axis] as number) + (box[axis + 3] as number)) / 2;
    // Of points in one place, no cut leaves fewer; nor of those that only rounding keeps apart.
    if (end - start <= LEAF_POINTS || !(middle > (box[axis] as number))) return node;
    const column = axis === 0 ? this.xs : axis === 1 ? this.ys : this.zs;
    const cut = yield* this.#partition(column, middle, start, end);
    yield* this.build(start, cut);
    const second = yield* this.build(cut, end);
    this.#nodes[node * NODE_INTEGERS + SECOND_CHILD] = second;
    return node;
  }

  startOf(node: number): number {
    return this.#nodes[node * NODE_INTEGERS + START] as number;
  }

  endOf(node: number): number {
    return this.#nodes[node * NODE_INTEGERS + END] as number;
  }

  /** 0 for a leaf; the first child of another node is the one after it. */
  secondChildOf(node: number): number {
    return this.#nodes[node * NODE_INTEGERS + SECOND_CHILD] as number;
  }

  /** At most the square of the chord from there to any point of the node. */
  squaredChordTo(node: number, x: number, y: number, z: number): number {
    const boxes = this.#boxes;
    const at = node * BOX_NUMBERS;
    const dx = Math.max((boxes[at] as number) - x, 0, x - (boxes[at + 3] as number));
    const dy = Math.max((boxes[at + 1] as number) - y, 0, y - (boxes[at + 4] as number));
    const dz = Math.max((boxes[at + 2] as number) - z, 0, z - (boxes[at + 5] as number));
    return dx * dx + dy * dy + dz * dz;
  }

  #addNode(start: number, end: number): number {
    const node = this.#nodeCount++;
    if (this.#nodeCount * NODE_INTEGERS > this.#nodes.length) {
      const nodes = new Int32Array(new SharedArrayBuffer(8 * this.#nodes.length));
      nodes.set(this.#nodes);
      this.#nodes = nodes;
      const boxes = new Float32Array(new SharedArrayBuffer(8 * this.#boxes.length));
      boxes.set(this.#boxes);
      this.#boxes = boxes;
    }
    this.#nodes[node * NODE_INTEGERS + START] = start;
    this.#nodes[node * NODE_INTEGERS + END] = end;
    return node;
  }

  #widen(start: number, end: number): void {
    const { xs, ys, zs } = this;
    const box = this.#box;
    let minX = box[0] as number;
    let minY = box[1] as number;
    let minZ = box[2] as number;
    let maxX = box[3] as number;
    let maxY = box[4] as number;
    let maxZ = box[5] as number;
    for (let at = start; at < end; at++) {
      const x = xs[at] as number;
      const y = ys[at] as number;
      const z = zs[at] as number;
      if (x < minX) minX = x;
      if (x > maxX) maxX = x;
      if (y < minY) minY = y;
      if (y > maxY) maxY = y;
      if (z < minZ) minZ = z;
      if (z > maxZ) maxZ = z;
    }
    box[0] = minX;
    box[1] = minY;
    box[2] = minZ;
    box[3] = maxX;
    box[4] = maxY;
    box[5] = maxZ;
  }

  /** Moves the points at or beyond `middle` behind the others; returns where they begin. */
  *#partition(column: Float64Array, middle: number, start: number, end: number): Generator<null, number> {
    let left = start;
    let right = end;
    while (left < right) {
      const before = right - left;
      [left, right] = this.#partitionStep(column, middle, left, right);
      if (this.#isStepDone(before - (right - left))) yield null;
    }
    return left;
  }

  /** Places some of the points from `left` to `right`; returns what is left of them. Generators are slow at loops like this. */
  #partitionStep(column: Float64Array, middle: number, from: number, to: number): [left: number, right: number] {
    let left = from;
    let right = to;
    for (let count = Math.min(STEP_POINTS, to - from); count > 0; count--) {
      if ((column[left] as number) < middle) left += 1;
      else this.#swap(left, --right);
    }
    return [left, right];
  }

  #swap(a: number, b: number): void {
    const { xs, ys, zs, numbers } = this;
    const x = xs[a] as number;
    const y = ys[a] as number;
    const z = zs[a] as number;
    const number = numbers[a] as number;
    xs[a] = xs[b] as number;
    ys[a] = ys[b] as number;
    zs[a] = zs[b] as number;
    numbers[a] = numbers[b] as number;
    xs[b] = x;
    ys[b] = y;
    zs[b] = z;
    numbers[b] = number;
  }

  #isStepDone(points: number): boolean {
    this.#work += points;
    if (this.#work < STEP_POINTS) return false;
    this.#work = 0;
    return true;
  }
}

function longestAxis(box: Float64Array): number {
  let axis = 0;
  let longest = -1;
  for (let side = 0; side < 3; side++) {
    const length = (box[side + 3] as number) - (box[side] as number);
    if (length <= longest) continue;
    longest = length;
    axis = side;
  }
  return axis;
}
