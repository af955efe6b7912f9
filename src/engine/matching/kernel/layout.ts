/**
 * The layout of the memory that the WebAssembly kernel shares with the JavaScript code. Only this file defines it;
 * `source.ts` builds the kernel from these numbers.
 *
 * Rows are stored in groups of sixteen, with one row per lane. Each column of a group is a vector of sixteen lanes. So
 * a test of a group reads at most nine adjacent cache lines. The query, lists and answers precede the groups.
 */

import { MEASURES } from '../rows/quantiser.ts';

export const LANES = 16;
export const LINE_BYTES = 64;

/** Offsets of the columns in a group. The first columns have one byte per lane. */
export const TYPES = 0;
export const NEEDS = TYPES + LANES;
export const NEED_COLUMNS = 2;
export const ATTENTION = NEEDS + NEED_COLUMNS * LANES;
/** Two columns per measure, minimum and maximum, in the order of `MEASURES`. */
export const BOUNDS = ATTENTION + LANES;
export const BOUND_COLUMNS = 2 * MEASURES.length;
export const BYTE_COLUMNS_END = BOUNDS + BOUND_COLUMNS * LANES;
/** The other columns have four bytes per lane. The first of them begins at a cache line. */
const WIDE_COLUMN_BYTES = 4 * LANES;
export const NUMBERS = Math.ceil(BYTE_COLUMNS_END / LINE_BYTES) * LINE_BYTES;
/** The source for the check of a row: its record (`isOfRecord`), or its expression, conditions or polygons. */
export const SOURCES = NUMBERS + WIDE_COLUMN_BYTES;
export const PLACE_GROUP_BYTES = SOURCES + WIDE_COLUMN_BYTES;
/** In degrees. Only groups of area rows have this column and the next two. */
export const LATITUDES = SOURCES + WIDE_COLUMN_BYTES;
export const LONGITUDES = LATITUDES + WIDE_COLUMN_BYTES;
/** The squared distance, in degrees of arc, up to which a row may match (see `area-geometry`). */
export const REACHES = LONGITUDES + WIDE_COLUMN_BYTES;
export const AREA_GROUP_BYTES = REACHES + WIDE_COLUMN_BYTES;

/** Query codes, one byte per column of limits. A row fails if its minimum is above the code or its maximum below it. */
export const MAYBE_BOUNDS = 0;
/** Codes for a second comparison: a row beyond these does not fail but is open. */
export const SURE_BOUNDS = 16;
export const QUERY_TYPE = 32;
/** Needs that the property does not meet, one byte per column of needs. */
export const QUERY_LACKING = QUERY_TYPE + 1;
/** The `ATTENTION` bits that require a check for this property. */
export const QUERY_TRIGGER = QUERY_LACKING + NEED_COLUMNS;
export const QUERY_LATITUDE = 48;
export const QUERY_LONGITUDE = 52;
/** Coefficients of cos(lat) cos(lat + north) as a polynomial: c0 - north (c1 + c2 north), with `north` in degrees. */
export const QUERY_COSINES = 56;
export const CHECK_COUNT = 68;
/** Prefetched words are stored here, so that the reads are not optimised away. */
export const TOUCHED = 72;
/** Addresses of the groups to test. */
export const GROUP_LIST = 1024;
export const GROUP_LIST_MAX = 2048;
/** For each listed group, the lanes that pass and the lanes that are open, with one bit per lane. */
export const VERDICTS = GROUP_LIST + 4 * GROUP_LIST_MAX;
/** Numbers of the searches that certainly match. */
export const SURE_ANSWERS = 32_768;
/** Rows to check: number, source and attention. The attention includes `OPEN_ROW` if the columns cannot decide. */
export const CHECK_ANSWERS = SURE_ANSWERS + 4 * LANES * GROUP_LIST_MAX;
export const CHECK_INTEGERS = 3;
export const OPEN_ROW = 256;
export const KERNEL_BYTES = CHECK_ANSWERS + 4 * CHECK_INTEGERS * LANES * GROUP_LIST_MAX;

/** A squared distance below reach × `SURE_PART` - √reach × `SURE_DEGREES` is certainly within the circle. */
export const SURE_PART = 1 - 65 / 2 ** 16;
/** 65 / 2^16 and 78 / 2^20 cover twice the margins of `area-geometry`. */
export const SURE_DEGREES = 78 / 2 ** 20;
