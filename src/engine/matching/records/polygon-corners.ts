/**
 * The corners of a polygon in its record: two doubles each or, where no coordinate has more than seven decimals, two
 * integers, in ten-millionths of a degree. Divided by ten million such an integer is the very same number again: a
 * quotient is rounded as the decimal was when it was read.
 */

import { ON_EDGE, sideOfEdge, WEST_OF_EDGE } from '../../domain/geo.ts';

const UNITS_PER_DEGREE = 1e7;
const UNITS_MAX = 2 ** 31 - 1;

/** Whether all of these fit integers. */
export function arePackable(coordinates: Float64Array): boolean {
  for (let i = 0; i < coordinates.length; i++) {
    const degrees = coordinates[i] as number;
    const units = toUnits(degrees);
    if (Math.abs(units) > UNITS_MAX || units / UNITS_PER_DEGREE !== degrees) return false;
  }
  return true;
}

function toUnits(degrees: number): number {
  return Math.round(degrees * UNITS_PER_DEGREE);
}

/** The length of so many corners, in words of eight bytes. */
export function cornerWords(count: number, arePacked: boolean): number {
  return arePacked ? count : 2 * count;
}

/** Corners at some place in two views of the same memory; to be moved from one polygon to the next. */
export class Corners {
  #numbers: Float64Array = new Float64Array(0);
  #integers: Int32Array = new Int32Array(0);
  #first = 0;
  #arePacked = false;

  /** `first`: word. */
  moveTo(numbers: Float64Array, integers: Int32Array, first: number, arePacked: boolean): this {
    this.#numbers = numbers;
    this.#integers = integers;
    this.#first = arePacked ? 2 * first : first;
    this.#arePacked = arePacked;
    return this;
  }

  /** `coordinates`: longitude and latitude in turn, packable where they are to be packed. */
  write(coordinates: Float64Array): void {
    if (!this.#arePacked) {
      this.#numbers.set(coordinates, this.#first);
      return;
    }
    const integers = this.#integers;
    for (let i = 0; i < coordinates.length; i++) integers[this.#first + i] = toUnits(coordinates[i] as number);
  }

  longitudeOf(corner: number): number {
    return this.#read(2 * corner);
  }

  latitudeOf(corner: number): number {
    return this.#read(2 * corner + 1);
  }

  /** Whether the rings hold the place; each ends at the corner given by the integer at `ends` and the next ones. */
  hold(ends: number, ringCount: number, lat: number, lon: number): boolean {
    let isInside = false;
    let corner = 0;
    for (let ring = ends; ring < ends + ringCount; ring++) {
      const end = this.#integers[ring] as number;
      let lonA = 0;
      let latA = 0;
      for (const first = corner; corner < end; corner++) {
        const lonB = this.longitudeOf(corner);
        const latB = this.latitudeOf(corner);
        const side = corner === first ? 0 : sideOfEdge(lonA, latA, lonB, latB, lat, lon);
        if (side === ON_EDGE) return true;
        if (side === WEST_OF_EDGE) isInside = !isInside;
        lonA = lonB;
        latA = latB;
      }
    }
    return isInside;
  }

  #read(coordinate: number): number {
    return this.#arePacked
      ? (this.#integers[this.#first + coordinate] as number) / UNITS_PER_DEGREE
      : (this.#numbers[this.#first + coordinate] as number);
  }
}
