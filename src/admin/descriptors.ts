/** The descriptors of every .proto file, as `npm run generate` writes them: a serialised FileDescriptorSet. */

import { readFile } from 'node:fs/promises';
import { BinaryReader } from '@bufbuild/protobuf/wire';

const FILE = new URL('./generated/descriptors.binpb', import.meta.url);
/** Field 1, length-delimited: `repeated FileDescriptorProto file`. */
const FILE_FIELD = (1 << 3) | 2;

/** One serialised FileDescriptorProto a file, those that are imported first. */
export async function fileDescriptors(): Promise<Buffer[]> {
  const reader = new BinaryReader(await readFile(FILE));
  const descriptors: Buffer[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === FILE_FIELD) descriptors.push(Buffer.from(reader.bytes()));
    else throw new Error(`field ${tag >>> 3} in a set of file descriptors`);
  }
  return descriptors;
}
