/**
 * The memory that the kernel and this thread share, byte by byte, and nowhere else: `source.ts` makes the
 * kernel of these numbers.
 *
 * Rows lie in groups of sixteen, one row a lane; in a group every column is a vector of that many lanes. Testing a group
 * therefore touches six to nine neighbouring cache lines and nothing else. Query, lists and answers
 * lie below the groups.
 */

import { MEASURES } from '../rows/quantiser.ts';

export const LANES = 16;
export const LINE_BYTES = 64;

/** Offsets of the columns in a group. These have a byte a lane. */
export const TYPES = 0;
export const NEEDS = TYPES + LANES;
export const NEED_COLUMNS = 2;
export const ATTENTION = NEEDS + NEED_COLUMNS * LANES;
/** Minimum and maximum of each measure, in the order of `MEASURES`. */
export const BOUNDS = ATTENTION + LANES;
export const BOUND_COLUMNS = 2 * MEASURES.length;
export const BYTE_COLUMNS_END = BOUNDS + BOUND_COLUMNS * LANES;
/** These have four bytes a lane, and begin with a cache line. */
const WIDE_COLUMN_BYTES = 4 * LANES;
export const NUMBERS = Math.ceil(BYTE_COLUMNS_END / LINE_BYTES) * LINE_BYTES;
/** What the check of the row reads: its record if it `isOfRecord`, else its expression, conditions or polygons. */
export const SOURCES = NUMBERS + WIDE_COLUMN_BYTES;
export const PLACE_GROUP_BYTES = SOURCES + WIDE_COLUMN_BYTES;
/** Degrees. Only groups of area rows have these three. */
export const LATITUDES = SOURCES + WIDE_COLUMN_BYTES;
export const LONGITUDES = LATITUDES + WIDE_COLUMN_BYTES;
/** Square of the distance in degrees of arc up to which a row may match; see `area-geometry`. */
export const REACHES = LONGITUDES + WIDE_COLUMN_BYTES;
export const AREA_GROUP_BYTES = REACHES + WIDE_COLUMN_BYTES;

/** Codes that no bound may exceed for a row to pass, a byte each; in the order of the bound columns. */
export const MAYBE_BOUNDS = 0;
/** Likewise for a row to pass surely. */
export const SURE_BOUNDS = 16;
export const QUERY_TYPE = 32;
/** A byte for each column of needs. */
export const QUERY_LACKING = QUERY_TYPE + 1;
/** The `ATTENTION` bits that matter for this property. */
export const QUERY_TRIGGER = QUERY_LACKING + NEED_COLUMNS;
export const QUERY_LATITUDE = 48;
export const QUERY_LONGITUDE = 52;
/** cos(lat) cos(lat + north) as a polynomial in `north`, degrees: c0 - north (c1 + c2 north). */
export const QUERY_COSINES = 56;
export const CHECK_COUNT = 68;
/** Takes what is read for nothing but to have it near. */
export const TOUCHED = 72;
/** Addresses of the groups to test. */
export const GROUP_LIST = 1024;
export const GROUP_LIST_MAX = 2048;
/** For each listed group the lanes that pass, then those that are open, a bit each. */
export const VERDICTS = GROUP_LIST + 4 * GROUP_LIST_MAX;
/** Numbers of the searches that surely match. */
export const SURE_ANSWERS = 32_768;
/** Rows to check: number, source and attention, the latter with `OPEN_ROW` when the columns could not decide. */
export const CHECK_ANSWERS = SURE_ANSWERS + 4 * LANES * GROUP_LIST_MAX;
export const CHECK_INTEGERS = 3;
export const OPEN_ROW = 256;
export const KERNEL_BYTES = CHECK_ANSWERS + 4 * CHECK_INTEGERS * LANES * GROUP_LIST_MAX;

/** A row is surely within its reach below this part of it, less this part of its root: twice the margins of `area-geometry`. */
export const SURE_PART = 1 - 65 / 2 ** 16;
export const SURE_DEGREES = 78 / 2 ** 20;
