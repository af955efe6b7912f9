/**
 * The output of the formats: one row after the other, an advert or an error. A format knows nothing about sources,
 * earlier publications, or the intake contract beyond the names of its members.
 */

import { decodeHTML } from 'entities';
import { type IntakeViolation, type SentMessage, VALIDATORS, violationsOf } from '../../engine/domain/intake-schema.ts';
import type { DecimalHabits, NumberReader } from './numbers.ts';

/** The snapshot cannot be taken; the message is the reported sentence. */
export class SnapshotRefusedError extends Error {
  readonly code = 'SNAPSHOT_REFUSED';

  /** In one line, and harmless to a terminal, whatever the names in a file are. */
  constructor(sentence: string, options?: ErrorOptions) {
    super(sentence.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd'), options);
  }
}

type Members = Readonly<Record<string, unknown>>;
type Lose = (loss: Loss) => void;

/** In the intake contract's form, without identity; unknown values are null, undefined, empty, or absent. */
export interface FeedContent {
  readonly property: Members;
  readonly advert: Members;
}

/** A value that was left out: of `price`, `"abc"` is `no number`. */
export interface Loss {
  readonly member: string;
  readonly fault: string;
  readonly value: string;
}

/** What else identifies an advert of Poliris: its agency's own reference and the technical id; empty: none. */
export interface OtherKeys {
  readonly own: string;
  readonly technical: string;
}

export interface AdvertRow {
  readonly kind: 'advert';
  /** From 1; of the file's lines or, where it has none, of its adverts. */
  readonly line: number;
  readonly reference: string;
  readonly keys?: OtherKeys;
  readonly content: FeedContent;
  readonly losses: readonly Loss[];
  /** Items of its `features` that earlier versions did not read: no release begins with events. */
  readonly laterFeatures?: readonly string[];
}

export interface ComplaintRow {
  readonly kind: 'complaint';
  readonly line: number;
  /** Null when the row does not even identify its advert. */
  readonly reference: string | null;
  readonly reason: string;
  readonly losses?: readonly Loss[];
}

/** A row that is no advert of the source. */
export interface LeftOutRow {
  readonly kind: 'left out';
  readonly line: number;
  readonly reference: null;
  /** The same for all rows that are left out for it. */
  readonly reason: string;
}

export type FeedRow = AdvertRow | ComplaintRow | LeftOutRow;

export const NAMES_COLUMNS = 'it names columns';
export const NOTHING_UNDERSTOOD = 'none of its values is understood';

/** `habits`: what the numbers of the source have shown; the reading returns what they show now. */
export type FeedFormat = (bytes: AsyncIterable<Buffer>, habits: DecimalHabits) => FeedReading;

export interface FeedReading {
  /** Throws `SnapshotRefusedError` when the bytes are not of the format, or end too early. */
  readonly rows: AsyncIterable<FeedRow>;
  readonly numbers: NumberReader;
}

const REFERENCE_LENGTH_MAX = 200;

/** Null: it can identify an advert. */
export function referenceFault(reference: string): string | null {
  if (reference === '') return 'it has no reference';
  if (reference.length > REFERENCE_LENGTH_MAX) return `its reference is longer than ${REFERENCE_LENGTH_MAX} characters`;
  return null;
}

/** Without unknown values; the rest is JSON in the same order every time. */
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

/** The known members of a content: `price`, `contact.phone`. A list counts its items. */
export function eachKnown(content: FeedContent, found: (member: string, count: number) => void): void {
  for (const half of [content.property, content.advert]) {
    for (const [name, value] of Object.entries(half)) {
      found(name, Array.isArray(value) ? value.length : 1);
      if (isRecord(value)) for (const part of Object.keys(value)) found(`${name}.${part}`, 1);
    }
  }
}

/** As much as tells one value from others. */
export const LOST_LENGTH_MAX = 60;

const NOWHERE = '00000000-0000-4000-8000-000000000000';

/** Without the values that the contract refuses: `dropped` is called for each. */
export function withinBounds(content: FeedContent, dropped: Lose): FeedContent {
  const kept = { property: known(content.property), advert: known(content.advert) };
  dropHalfPlace(kept.property, dropped);
  // The validator completes its input.
  const copy = structuredClone(kept);
  const message = {
    kind: 'upsert',
    crawledAt: '2026-01-01T00:00:00Z',
    property: { ...copy.property, uuid: NOWHERE },
    advert: { ...copy.advert, uuid: NOWHERE },
  };
  if (isValid(message)) return kept;
  for (const violation of violationsOf(VALIDATORS.upsert.errors ?? [])) dropAt(kept, violation, dropped);
  // One of the two may have been dropped.
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
  // A list is dropped as a whole, a record by its member.
  while (path.length > 1 && isRecord(members[path[0] as string]))
    members = members[path.shift() as string] as Record<string, unknown>;
  const name = path[0] as string;
  if (!(name in members)) return;
  const value = (JSON.stringify(members[name]) ?? '').slice(0, LOST_LENGTH_MAX);
  delete members[name];
  const member = propertyPath.replace(/^\w+\./, '').replace(/\.\d+(?=\.|$)/, '');
  dropped({ member, fault: `left out: it ${message}`, value });
}

/** An advert with thirty photos and texts in five languages has a hundredth of it. */
const LINE_BYTES_MAX = 4 * 1_024 * 1_024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface Line {
  readonly number: number;
  /** Without its end. */
  readonly bytes: Buffer;
  /** False: the file ends here, without the end of a line. */
  readonly isEnded: boolean;
}

/** Throws `SnapshotRefusedError` at a line that is too long for an advert. A byte order mark is left out. */
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
    if (length > LINE_BYTES_MAX) throw new SnapshotRefusedError(`line ${number} has more than ${LINE_BYTES_MAX} bytes`);
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

/** Lines are kept, at most one empty one between two. */
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

/** Null: it cannot be followed. */
export function webAddress(written: string): string | null {
  const address = written.trim();
  return /^https?:\/\/[^\s/]/i.test(address) ? address : null;
}
