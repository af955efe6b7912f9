/** OpenStreetMap PBF files of one block, written field by field, sound or not. */

import { deflateSync } from 'node:zlib';
import { PbfWriter } from 'pbf';

export type WriteFields = (writer: PbfWriter) => void;

export function pbfFileBytes(block: Uint8Array | WriteFields): Buffer {
  return Buffer.concat([blob(new Uint8Array(), 'OSMHeader'), blob(contentOf(block), 'OSMData')]);
}

function blob(content: Uint8Array, type: string): Buffer {
  const writer = new PbfWriter();
  writer.writeBytesField(3, deflateSync(content));
  const body = writer.finish();
  const header = new PbfWriter();
  header.writeStringField(1, type);
  header.writeVarintField(3, body.length);
  const headerBytes = header.finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(headerBytes.length);
  return Buffer.concat([length, headerBytes, body]);
}

function contentOf(block: Uint8Array | WriteFields): Uint8Array {
  if (typeof block !== 'function') return block;
  const writer = new PbfWriter();
  block(writer);
  return writer.finish();
}

/** A block whose strings are `strings`, and whose one group `write` fills. */
export function blockOf(strings: readonly string[], write: WriteFields): WriteFields {
  return (writer) => {
    writer.writeMessage(1, (_, table) => strings.forEach((each) => table?.writeStringField(1, each)), null);
    writeMessage(writer, 2, write);
  };
}

export function writeMessage(writer: PbfWriter, tag: number, write: WriteFields): void {
  writer.writeMessage(
    tag,
    (_, inner) => {
      if (inner !== undefined) write(inner);
    },
    null,
  );
}
