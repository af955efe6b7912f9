/**
 * The layout of the memory that the kernel shares with this thread, defined only here: `source.ts` builds the kernel
 * from these numbers.
 *
 * Rows are stored in groups of sixteen, one row per lane; in a group, each column is a vector of sixteen lanes. So a
 * test of a group reads only six to nine adjacent cache lines. The query, lists and answers precede the groups.
 */

import { MEASURES } from '../rows/quantiser.ts';

export const LANES = 16;
export const LINE_BYTES = 64;

/** Offsets of the columns in a group. The first ones have one byte per lane. */
export const TYPES = 0;
export const NEEDS = TYPES + LANES;
export const NEED_COLUMNS = 2;
export const ATTENTION = NEEDS + NEED_COLUMNS * LANES;
/** Minimum and maximum of each measure, in the order of `MEASURES`. */
export const BOUNDS = ATTENTION + LANES;
export const BOUND_COLUMNS = 2 * MEASURES.length;
export const BYTE_COLUMNS_END = BOUNDS + BOUND_COLUMNS * LANES;
/** The other columns have four bytes per lane; the first one begins at a cache line. */
const WIDE_COLUMN_BYTES = 4 * LANES;
export const NUMBERS = Math.ceil(BYTE_COLUMNS_END / LINE_BYTES) * LINE_BYTES;
/** The address for the check of the row: its record if it `isOfRecord`, else its expression, conditions or polygons. */
export const SOURCES = NUMBERS + WIDE_COLUMN_BYTES;
export const PLACE_GROUP_BYTES = SOURCES + WIDE_COLUMN_BYTES;
/** Degrees. Only groups of area rows have this column and the next two. */
export const LATITUDES = SOURCES + WIDE_COLUMN_BYTES;
export const LONGITUDES = LATITUDES + WIDE_COLUMN_BYTES;
/** Square of the distance in degrees of arc up to which a row may match; see `area-geometry`. */
export const REACHES = LONGITUDES + WIDE_COLUMN_BYTES;
export const AREA_GROUP_BYTES = REACHES + WIDE_COLUMN_BYTES;

/** Query codes, a byte per bound column. A row fails if its minimum is above the code, or its maximum is below it. */
export const MAYBE_BOUNDS = 0;
/** Likewise, but such a row is open and does not fail. */
export const SURE_BOUNDS = 16;
export const QUERY_TYPE = 32;
/** Needs that the property lacks, a byte for each column of needs. */
export const QUERY_LACKING = QUERY_TYPE + 1;
/** The `ATTENTION` bits that require a check for this property. */
export const QUERY_TRIGGER = QUERY_LACKING + NEED_COLUMNS;
export const QUERY_LATITUDE = 48;
export const QUERY_LONGITUDE = 52;
/** cos(lat) cos(lat + north) as a polynomial in `north`, degrees: c0 - north (c1 + c2 north). */
export const QUERY_COSINES = 56;
export const CHECK_COUNT = 68;
/** Receives the prefetched words, so that the reads are not optimised away. */
export const TOUCHED = 72;
/** Addresses of the groups to test. */
export const GROUP_LIST = 1024;
export const GROUP_LIST_MAX = 2048;
/** For each listed group the lanes that pass, then those that are open, one bit per lane. */
export const VERDICTS = GROUP_LIST + 4 * GROUP_LIST_MAX;
/** Numbers of the searches that surely match. */
export const SURE_ANSWERS = 32_768;
/** Rows to check: number, source and attention, which includes `OPEN_ROW` if the columns could not decide. */
export const CHECK_ANSWERS = SURE_ANSWERS + 4 * LANES * GROUP_LIST_MAX;
export const CHECK_INTEGERS = 3;
export const OPEN_ROW = 256;
export const KERNEL_BYTES = CHECK_ANSWERS + 4 * CHECK_INTEGERS * LANES * GROUP_LIST_MAX;

/** A row surely matches below reach × `SURE_PART` - √reach × `SURE_DEGREES`: twice the margins of `area-geometry`. */
export const SURE_PART = 1 - 65 / 2 ** 16;
export const SURE_DEGREES = 78 / 2 ** 20;
