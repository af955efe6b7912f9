/**
 * How deep a file may nest and how long one of its entries may be, a feature or an OpenStreetMap element: far beyond
 * every real one, so that a file made to cost memory and time is refused before it does.
 */

/** GeoJSON nests nine deep, OpenStreetMap's formats six. */
const DEPTH_MAX = 64;
/** The outline of a country with every bend of its coast has a few. */
const ENTRY_BYTES_MAX = 16 * 1_024 * 1_024;

export interface EntryBound {
  /** So many bytes come next. Throws when no entry has ended for too long. */
  read(bytes: number): void;
  /** Something opens: a bracket, a tag. Throws when too many are open. */
  open(): void;
  /** The last of them closes. */
  close(): void;
  /** Something came that neither opens nor closes. */
  pass(): void;
}

/** `entryDepth`: how many are open between two entries. Its errors say what is wrong, the caller in which file. */
export function createEntryBound(entryDepth: number): EntryBound {
  let depth = 0;
  let entryBytes = 0;
  const endEntry = (): void => {
    if (depth <= entryDepth) entryBytes = 0;
  };
  return {
    read(bytes) {
      entryBytes += bytes;
      if (entryBytes > ENTRY_BYTES_MAX) throw new Error(`an entry of more than ${ENTRY_BYTES_MAX} bytes`);
    },
    open() {
      depth += 1;
      if (depth > DEPTH_MAX) throw new Error(`nested more than ${DEPTH_MAX} deep`);
      endEntry();
    },
    close() {
      depth -= 1;
      endEntry();
    },
    pass: endEntry,
  };
}
