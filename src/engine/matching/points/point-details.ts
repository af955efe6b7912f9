/**
 * Names and attributes of points of interest, in columns of shared memory. Five million objects would make each garbage
 * collection block the process for a long time. So points are stored as bytes, and an object is created only on a read.
 */

import { OPERATOR_TYPES, type PointAttributes, SCHOOL_TYPES } from '../../domain/point-of-interest.ts';

const CHUNK_LOG2 = 13;
const CHUNK = 1 << CHUNK_LOG2;
const NAME_BYTES = 24;

/** All combinations of attributes, as shared objects. A point stores the index of its combination in a byte. */
const ATTRIBUTES: readonly PointAttributes[] = [null, ...SCHOOL_TYPES].flatMap((schoolType) =>
  [null, ...OPERATOR_TYPES].map((operatorType) => ({
    ...(schoolType === null ? {} : { schoolType }),
    ...(operatorType === null ? {} : { operatorType }),
  })),
);

interface Chunk {
  readonly attributes: Uint8Array;
  /** The end of each name in `names`. A name begins where the previous name ends. */
  readonly nameEnds: Uint32Array;
  /** 1 if the point has no name, which is not the same as an empty name. */
  readonly isNameless: Uint8Array;
  /** UTF-8. */
  names: Buffer;
}

/** A growing list of names and attributes. */
export class PointDetails {
  readonly #chunks: Chunk[] = [];
  #length = 0;

  add(name: string | null, attributes: PointAttributes): void {
    const [chunk, at] = this.#next();
    chunk.attributes[at] = numberOf(attributes);
    chunk.isNameless[at] = name === null ? 1 : 0;
    const start = nameStart(chunk, at);
    const text = name ?? '';
    // A UTF-16 unit takes at most three bytes in UTF-8.
    makeRoom(chunk, start + 3 * text.length);
    chunk.nameEnds[at] = start + (text === '' ? 0 : chunk.names.write(text, start));
  }

  /** Adds the name and the attributes at `position` of `other`. */
  addFrom(other: PointDetails, position: number): void {
    const from = other.#chunkOf(position);
    const place = position & (CHUNK - 1);
    const [to, at] = this.#next();
    to.attributes[at] = from.attributes[place] as number;
    to.isNameless[at] = from.isNameless[place] as number;
    const [start, nameFrom] = [nameStart(to, at), nameStart(from, place)];
    const nameTo = from.nameEnds[place] as number;
    makeRoom(to, start + nameTo - nameFrom);
    if (nameTo > nameFrom) from.names.copy(to.names, start, nameFrom, nameTo);
    to.nameEnds[at] = start + nameTo - nameFrom;
  }

  nameAt(position: number): string | null {
    const chunk = this.#chunkOf(position);
    const at = position & (CHUNK - 1);
    return chunk.isNameless[at] === 1 ? null : chunk.names.toString('utf8', nameStart(chunk, at), chunk.nameEnds[at]);
  }

  attributesAt(position: number): PointAttributes {
    return ATTRIBUTES[this.#chunkOf(position).attributes[position & (CHUNK - 1)] as number] as PointAttributes;
  }

  #chunkOf(position: number): Chunk {
    return this.#chunks[position >> CHUNK_LOG2] as Chunk;
  }

  #next(): [chunk: Chunk, at: number] {
    const position = this.#length++;
    if ((position & (CHUNK - 1)) === 0) this.#chunks.push(newChunk());
    return [this.#chunkOf(position), position & (CHUNK - 1)];
  }
}

function numberOf({ schoolType, operatorType }: PointAttributes): number {
  const school = schoolType === undefined ? 0 : 1 + SCHOOL_TYPES.indexOf(schoolType);
  const operator = operatorType === undefined ? 0 : 1 + OPERATOR_TYPES.indexOf(operatorType);
  return school * (1 + OPERATOR_TYPES.length) + operator;
}

function newChunk(): Chunk {
  return {
    attributes: new Uint8Array(new SharedArrayBuffer(CHUNK)),
    nameEnds: new Uint32Array(new SharedArrayBuffer(4 * CHUNK)),
    isNameless: new Uint8Array(new SharedArrayBuffer(CHUNK)),
    names: Buffer.from(new SharedArrayBuffer(NAME_BYTES * CHUNK)),
  };
}

function nameStart({ nameEnds }: Chunk, at: number): number {
  return at === 0 ? 0 : (nameEnds[at - 1] as number);
}

function makeRoom(chunk: Chunk, byteCount: number): void {
  if (byteCount <= chunk.names.length) return;
  const larger = Buffer.from(new SharedArrayBuffer(2 * byteCount));
  chunk.names.copy(larger);
  chunk.names = larger;
}
