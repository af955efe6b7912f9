/**
 * Reads the bytes of a snapshot from a regular file, unpacking ZIP and gzip. Sizes stated in the file are not trusted:
 * bytes are counted, and a ZIP entry's checksum is compared. A file that changes while it is read is refused.
 */

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { crc32, createGunzip } from 'node:zlib';
import { type Entry, fromFd, type ZipFile } from 'yauzl';
import { SnapshotRefusedError } from './feed-row.ts';

/** Twice the size of a hundred thousand adverts with their texts. */
export const CONTENT_BYTES_MAX = 2 * 1_024 ** 3;
const ENTRIES_MAX = 100_000;
const HEAD_BYTES = 4;
/** The byte order mark in either order. */
const UTF16_START = /^(?:\xff\xfe|\xfe\xff)/;

/** Does not follow a symbolic link, and does not block on a pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Throws `SnapshotRefusedError` if the path is not a regular file, and the system's error if it cannot be read. */
export async function openSnapshot(path: string) {
  const handle = await open(path, FLAGS).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' ? new SnapshotRefusedError(`${path} is a link. Give the path of its file.`) : error;
  });
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile()) {
    await handle.close();
    throw new SnapshotRefusedError(`${path} is not a regular file.`);
  }
  const version = versionOf(stats);
  let hash = createHash('sha256');
  let bytesRead = 0;
  async function* content(): AsyncGenerator<Buffer> {
    hash = createHash('sha256');
    bytesRead = 0;
    let contentBytes = 0;
    for await (const chunk of await unpacked(handle, path, (count) => (bytesRead += count))) {
      if (contentBytes === 0 && UTF16_START.test(chunk.toString('latin1', 0, 2)))
        throw new SnapshotRefusedError('The file is UTF-16. Export it again as UTF-8.');
      contentBytes += chunk.length;
      if (contentBytes > CONTENT_BYTES_MAX)
        throw new SnapshotRefusedError(`The file contains more than ${CONTENT_BYTES_MAX} bytes. Split it.`);
      hash.update(chunk);
      yield chunk;
    }
    if (versionOf(await handle.stat({ bigint: true })) !== version)
      throw new SnapshotRefusedError('The file changed while it was read. Try again when it is completely written.');
  }
  return {
    /** Changes when the file is written again. */
    version,
    /** Starts at the beginning of the file. Throws `SnapshotRefusedError`. */
    content,
    bytesRead: () => bytesRead,
    /** Share of the file that has been read, 0 to 1. */
    shareRead: () => (stats.size === 0n ? 1 : Math.min(1, bytesRead / Number(stats.size))),
    /** Hash of the content that was read. */
    hash: () => hash.copy().digest('base64url'),
    close: () => handle.close(),
  };
}

function versionOf(stats: { readonly ino: bigint; readonly size: bigint; readonly mtimeNs: bigint }): string {
  return `${stats.ino}-${stats.size}-${stats.mtimeNs}`;
}

/** The file itself, or the newest file of a folder, where links, pipes and hidden files are ignored; null if none. */
export async function newestFile(path: string): Promise<{ readonly path: string; readonly version: string } | null> {
  const stats = await lstat(path, { bigint: true });
  if (!stats.isDirectory()) return { path, version: versionOf(stats) };
  const entries = await readdir(path, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
  let newest: { readonly path: string; readonly version: string; readonly at: bigint } | null = null;
  for (const { name } of files) {
    const file = join(path, name);
    const found = await lstat(file, { bigint: true });
    if (found.isFile() && (newest === null || found.mtimeNs > newest.at))
      newest = { path: file, version: versionOf(found), at: found.mtimeNs };
  }
  return newest;
}

async function unpacked(
  handle: FileHandle,
  path: string,
  onRead: (count: number) => void,
): Promise<AsyncIterable<Buffer>> {
  const head = Buffer.alloc(HEAD_BYTES);
  const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0);
  const start = head.subarray(0, bytesRead).toString('latin1');
  if (start === 'PK\x03\x04' || start === 'PK\x05\x06') return zipped(handle, onRead);
  const file = handle.createReadStream({ autoClose: false, start: 0, highWaterMark: 256 * 1_024 });
  file.on('data', (chunk) => onRead(chunk.length));
  if (!start.startsWith('\x1f\x8b')) return file;
  // Unlike `pipe`, `pipeline` passes on a read error of the file, which would otherwise end the process.
  const content = pipeline(file, createGunzip({ chunkSize: 128 * 1_024 }), () => undefined);
  return checked(content, `${basename(path)} is cut off or damaged`);
}

async function* checked(stream: Readable, sentence: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (cause) {
    // The system's error: the file may be readable later.
    if ('syscall' in (cause as Error)) throw cause;
    throw new SnapshotRefusedError(`${sentence} (${(cause as Error).message}).`, { cause });
  }
}

async function* zipped(handle: FileHandle, onRead: (count: number) => void): AsyncGenerator<Buffer> {
  const damaged = 'The ZIP is cut off or damaged';
  const archive = await new Promise<ZipFile>((resolve, reject) => {
    fromFd(handle.fd, { lazyEntries: true, autoClose: false }, (error, opened) =>
      error ? reject(error) : resolve(opened),
    );
  }).catch((cause: Error) => {
    throw new SnapshotRefusedError(`${damaged} (${cause.message}).`, { cause });
  });
  const entry = await snapshotEntry(archive).catch((cause: Error) => {
    throw cause instanceof SnapshotRefusedError ? cause : new SnapshotRefusedError(`${damaged} (${cause.message}).`);
  });
  const stream = await new Promise<Readable>((resolve, reject) => {
    archive.openReadStream(entry, (error, opened) => (error ? reject(error) : resolve(opened)));
  }).catch((cause: Error) => {
    throw new SnapshotRefusedError(`Cannot read ${entry.fileName} in the ZIP (${cause.message}).`, { cause });
  });
  let sum = 0;
  for await (const chunk of checked(stream, damaged)) {
    sum = crc32(chunk, sum);
    onRead(Math.round((chunk.length * entry.compressedSize) / Math.max(1, entry.uncompressedSize)));
    yield chunk;
  }
  if (sum >>> 0 !== entry.crc32 >>> 0) throw new SnapshotRefusedError(`${damaged} (its checksum does not match).`);
}

/** `Annonces.csv`, otherwise the only data file of the archive. */
async function snapshotEntry(archive: ZipFile): Promise<Entry> {
  const candidates = await new Promise<readonly Entry[]>((resolve, reject) => {
    const found: Entry[] = [];
    let count = 0;
    archive.on('error', reject);
    archive.on('end', () => resolve(found));
    archive.on('entry', (entry: Entry) => {
      if (++count > ENTRIES_MAX) return reject(new Error(`it has more than ${ENTRIES_MAX} files`));
      if (/\.(?:csv|xml|json|ndjson|jsonl)$/i.test(entry.fileName)) found.push(entry);
      if (found.length > 100) return reject(new Error('it has more than 100 files of adverts'));
      archive.readEntry();
    });
    archive.readEntry();
  });
  const named = candidates.find(({ fileName }) => basename(fileName).toLowerCase() === 'annonces.csv');
  const entry = named ?? (candidates.length === 1 ? candidates[0] : undefined);
  if (entry !== undefined) return entry;
  const names = candidates.map(({ fileName }) => fileName).join(', ');
  throw new SnapshotRefusedError(
    names === ''
      ? 'The ZIP has no file of adverts, such as Annonces.csv.'
      : `The ZIP has several files (${names}), but no Annonces.csv. Keep one of them.`,
  );
}
