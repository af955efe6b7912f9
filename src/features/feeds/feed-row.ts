/**
 * Rows that the formats return one by one: an advert, a complaint, or a row that is left out. A format uses the member
 * names of the intake contract. It gets the decimal signs of earlier files of the source, but no other values.
 */

import { decodeHTML } from 'entities';
import { type IntakeViolation, type SentMessage, VALIDATORS, violationsOf } from '../../engine/domain/intake-schema.ts';
import type { DecimalHabits, NumberReader } from './numbers.ts';

/** Thrown if a snapshot cannot be accepted. The message consists of complete sentences. */
export class SnapshotRefusedError extends Error {
  readonly code = 'SNAPSHOT_REFUSED';

  /** Replaces control characters and line breaks in the message, because names in a file may contain some. */
  constructor(sentence: string, options?: ErrorOptions) {
    super(sentence.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd'), options);
  }
}

type Members = Readonly<Record<string, unknown>>;
type Lose = (loss: Loss) => void;

/** An advert in the form of the intake contract, without ids. Unknown values are null, undefined, empty or absent. */
export interface FeedContent {
  readonly property: Members;
  readonly advert: Members;
}

/** A value that was left out, e.g. `"abc"` of `price` with the fault `not a number`. */
export interface Loss {
  readonly member: string;
  readonly fault: string;
  readonly value: string;
}

/** Keys of a Poliris advert that survive a new agency number. Each is empty if the record has none. */
export interface OtherKeys {
  readonly own: string;
  readonly technical: string;
}

export interface AdvertRow {
  readonly kind: 'advert';
  /** Line of the file, from 1, or the position of the advert if the format has no lines. */
  readonly line: number;
  readonly reference: string;
  readonly keys?: OtherKeys;
  readonly content: FeedContent;
  readonly losses: readonly Loss[];
  /** Items of `features` that earlier versions did not read; they cause no events after an upgrade. */
  readonly laterFeatures?: readonly string[];
}

export interface ComplaintRow {
  readonly kind: 'complaint';
  readonly line: number;
  /** Null if the row does not identify its advert. */
  readonly reference: string | null;
  readonly reason: string;
  readonly losses?: readonly Loss[];
}

/** A row that is not an advert of the source. */
export interface LeftOutRow {
  readonly kind: 'left out';
  readonly line: number;
  readonly reference: null;
  /** A clause of a sentence. Rows with the same reason are counted together. */
  readonly reason: string;
}

export type FeedRow = AdvertRow | ComplaintRow | LeftOutRow;

export const NAMES_COLUMNS = 'the row names columns';
export const NOTHING_UNDERSTOOD = 'none of the values is understood';

/** `habits`: the decimal signs learned from the source so far. `numbers` of the reading has the updated ones. */
export type FeedFormat = (bytes: AsyncIterable<Buffer>, habits: DecimalHabits) => FeedReading;

export interface FeedReading {
  /** Throws `SnapshotRefusedError` if the bytes are not in this format or end too early. */
  readonly rows: AsyncIterable<FeedRow>;
  readonly numbers: NumberReader;
}

const REFERENCE_LENGTH_MAX = 200;

/** Why the reference cannot identify an advert; null if it can. */
export function referenceFault(reference: string): string | null {
  if (reference === '') return 'the reference is missing';
  if (reference.length > REFERENCE_LENGTH_MAX) return `the reference is longer than ${REFERENCE_LENGTH_MAX} characters`;
  return null;
}

/** The members without unknown values. Equal contents give equal JSON, because the order of members is kept. */
export function known(members: Members): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => {
      const kept = isRecord(value) ? known(value) : value;
      return isUnknown(kept) ? [] : [[name, kept]];
    }),
  );
}

function isUnknown(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Calls `found` for each known member and submember (`price`, `contact.phone`). A list counts its items. */
export function eachKnown(content: FeedContent, found: (member: string, count: number) => void): void {
  for (const half of [content.property, content.advert]) {
    for (const [name, value] of Object.entries(half)) {
      found(name, Array.isArray(value) ? value.length : 1);
      if (isRecord(value)) for (const part of Object.keys(value)) found(`${name}.${part}`, 1);
    }
  }
}

/** Longest excerpt of a lost value in a report, in characters. */
export const LOST_LENGTH_MAX = 60;

const NOWHERE = '00000000-0000-4000-8000-000000000000';

/** The content without the values that the contract refuses. Calls `dropped` for each of these. */
export function withinBounds(content: FeedContent, dropped: Lose): FeedContent {
  const kept = { property: known(content.property), advert: known(content.advert) };
  dropHalfPlace(kept.property, dropped);
  // The validator adds default values to its input.
  const copy = structuredClone(kept);
  const message = {
    kind: 'upsert',
    crawledAt: '2026-01-01T00:00:00Z',
    property: { ...copy.property, uuid: NOWHERE },
    advert: { ...copy.advert, uuid: NOWHERE },
  };
  if (isValid(message)) return kept;
  for (const violation of violationsOf(VALIDATORS.upsert.errors ?? [])) dropAt(kept, violation, dropped);
  // One of the two coordinates may have been dropped.
  dropHalfPlace(kept.property, dropped);
  return { property: known(kept.property), advert: known(kept.advert) };
}

function isValid(message: unknown): message is SentMessage {
  return VALIDATORS.upsert(message);
}

function dropHalfPlace(property: Record<string, unknown>, dropped: Lose): void {
  const place = property.locations as { lat?: unknown; lon?: unknown } | undefined;
  if (place === undefined || (place.lat !== undefined && place.lon !== undefined)) return;
  delete property.locations;
  dropped({ member: 'locations', fault: 'left out: one of lat and lon is missing', value: JSON.stringify(place) });
}

function dropAt(kept: FeedContent, { propertyPath, message }: IntakeViolation, dropped: Lose) {
  const [half, ...path] = propertyPath.split('.');
  let members = kept[half as keyof FeedContent] as Record<string, unknown>;
  // A list is dropped as a whole; in a record, only the faulty member is dropped.
  while (path.length > 1 && isRecord(members[path[0] as string]))
    members = members[path.shift() as string] as Record<string, unknown>;
  const name = path[0] as string;
  if (!(name in members)) return;
  const value = (JSON.stringify(members[name]) ?? '').slice(0, LOST_LENGTH_MAX);
  delete members[name];
  const member = propertyPath.replace(/^\w+\./, '').replace(/\.\d+(?=\.|$)/, '');
  dropped({ member, fault: `left out: it ${message}`, value });
}

/** An advert with thirty photos and texts in five languages takes a hundredth of this. */
const LINE_BYTES_MAX = 4 * 1_024 * 1_024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface Line {
  readonly number: number;
  /** Without the line end. */
  readonly bytes: Buffer;
  /** False for a last line without a line end. */
  readonly isEnded: boolean;
}

/** Throws `SnapshotRefusedError` if a line is longer than an advert can be. Removes a byte order mark. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 1;
  const lineAt = (isEnded: boolean): Line => {
    const whole = withoutMark(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), number);
    parts = [];
    length = 0;
    return { number: number++, bytes: whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole, isEnded };
  };
  const add = (part: Buffer): void => {
    length += part.length;
    if (length > LINE_BYTES_MAX) throw new SnapshotRefusedError(`Line ${number} has over ${LINE_BYTES_MAX} bytes.`);
    parts.push(part);
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      add(chunk.subarray(from, end));
      from = end + 1;
      yield lineAt(true);
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
  if (length > 0) yield lineAt(false);
}

function withoutMark(bytes: Buffer, number: number): Buffer {
  const hasMark = number === 1 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return hasMark ? bytes.subarray(3) : bytes;
}

const LINE_ENDS = /<br\s*\/?>|<\/(?:p|div|li|tr|h[1-6])\s*>/gi;
const TAGS = /<\/?[a-z][^<>]*>|<!--[^<>]*-->/gi;
// oxlint-disable-next-line eslint/no-control-regex -- exactly those
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufeff]/g;

/** Converts HTML to plain text. Line breaks are kept, with at most one empty line in a row. */
export function plainText(written: string): string {
  const text = /[<&]/.test(written) ? decodeHTML(written.replaceAll(LINE_ENDS, '\n').replaceAll(TAGS, '')) : written;
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(CONTROLS, '')
    .replaceAll(/[ \t\u00a0]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

export function plainLine(written: string): string {
  return plainText(written).replaceAll('\n', ' ');
}

/** Null if the text is not a web address. */
export function webAddress(written: string): string | null {
  const address = written.trim();
  return /^https?:\/\/[^\s/]/i.test(address) ? address : null;
}
