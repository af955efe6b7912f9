/**
 * The intake contract (decisions, section 8): bytes from a crawler become an `IntakeMessage` or a `PoisonError` that
 * says what is wrong with them. Members the contract does not know are ignored; an absent member is unknown.
 */

import { z } from 'zod';
import type { AdvertContent } from './advert.ts';
import {
  ENERGY_CATEGORIES,
  FEES_RESPONSIBILITIES,
  PROPERTY_TYPES,
  PUBLISHER_TYPES,
  TRANSACTION_TYPES,
} from './codes.ts';
import type { Uuid } from './ids.ts';
import type { StatedProperty } from './property.ts';

interface IntakeMessageBase {
  /** UTC, as `Date.prototype.toISOString` writes it. */
  readonly crawledAt: string;
  readonly propertyUuid: Uuid;
  readonly advertUuid: Uuid;
}

export interface UpsertMessage extends IntakeMessageBase {
  readonly kind: 'upsert';
  readonly property: StatedProperty;
  readonly advert: AdvertContent;
}

export interface ExpireMessage extends IntakeMessageBase {
  readonly kind: 'expire';
  readonly expiredAt: string | null;
}

export type IntakeMessage = UpsertMessage | ExpireMessage;

/** A message that no retry can make understood. */
export class PoisonError extends Error {
  readonly code = 'POISON';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** U+0000 and half surrogate pairs: PostgreSQL refuses them in text and jsonb, and with them the whole batch. */
const UNSTORABLE = /[\0\p{Surrogate}]/gu;

/** Throws `PoisonError`. */
export function decodeIntakeMessage(bytes: Uint8Array): IntakeMessage {
  const parsed = messageSchema.safeParse(parseJson(bytes));
  if (!parsed.success) throw new PoisonError(describeIssues(parsed.error));
  const message = parsed.data;
  const identity = {
    crawledAt: message.crawledAt,
    propertyUuid: message.property.uuid,
    advertUuid: message.advert.uuid,
  };
  if (message.kind === 'expire') return { ...identity, kind: 'expire', expiredAt: message.expiredAt };
  const { uuid: _propertyUuid, ...property } = message.property;
  const { uuid: _advertUuid, ...advert } = message.advert;
  return { ...identity, kind: 'upsert', property, advert };
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    // The reason quotes the bytes, and is stored itself.
    const reason = (cause as Error).message.replace(UNSTORABLE, '\ufffd');
    throw new PoisonError(`not JSON in UTF-8: ${reason}`, { cause });
  }
}

const ISSUES_SHOWN = 5;

function describeIssues(error: z.ZodError): string {
  const issues = error.issues.map((issue) => `${issue.path.join('.') || 'message'}: ${issue.message}`);
  const more = issues.length > ISSUES_SHOWN ? `; and ${issues.length - ISSUES_SHOWN} more` : '';
  return issues.slice(0, ISSUES_SHOWN).join('; ') + more;
}

/** Above any price of a building in euros or surface of an estate in m². */
const AMOUNT_MAX = 1e11;
/** Below any price or surface but 0; with `AMOUNT_MAX` it keeps every quotient finite. */
const AMOUNT_MIN = 1e-4;
const TEXT_LENGTH_MAX = 100_000;
const LIST_LENGTH_MAX = 1_000;

const unknownAsNull = <T extends z.ZodType>(schema: T) => schema.nullable().default(null);
const storable = z
  .string()
  .max(TEXT_LENGTH_MAX)
  .refine((value) => value.search(UNSTORABLE) === -1, 'must not contain U+0000 or half a surrogate pair');
const text = unknownAsNull(storable);
const flag = unknownAsNull(z.boolean());
const amount = unknownAsNull(
  z
    .number()
    .max(AMOUNT_MAX)
    .refine((value) => value === 0 || value >= AMOUNT_MIN, `must be 0 or at least ${AMOUNT_MIN}`),
);
const count = unknownAsNull(z.int().min(0).max(100_000));
const floor = unknownAsNull(z.int().min(-100).max(1_000));
const instant = z.iso
  .datetime({ offset: true, local: false })
  .transform((value) => new Date(value).toISOString())
  .refine((value) => /^(?!0000)\d{4}-/.test(value), 'must lie in the years 1 to 9999');
/** An identifier of the crawler's source. */
const sourceId = unknownAsNull(z.int().min(0));
const uuid = z.guid().transform((value) => value.toLowerCase());
const code = (codes: readonly number[]) => unknownAsNull(z.literal([...codes]));
const textList = z.array(storable).max(LIST_LENGTH_MAX);
const texts = textList.nullish().transform((list) => list ?? []);

const energy = unknownAsNull(z.object({ category: unknownAsNull(z.enum(ENERGY_CATEGORIES)), value: amount }));
const contact = unknownAsNull(
  z.object({ agency: text, email: text, fax: text, name: text, phone: text, reference: text }),
);
const publisher = unknownAsNull(z.object({ category: text, name: text, type: code(PUBLISHER_TYPES) }));

const advertSchema = z.object({
  uuid,
  title: text,
  description: text,
  url: text,
  virtualTour: text,
  contact,
  publisher,
  createdAt: unknownAsNull(instant),
  updatedAt: unknownAsNull(instant),
  features: texts,
  energy,
  greenHouseGas: energy,
  constructionYear: unknownAsNull(z.int().min(0).max(9_999)),
  floorQuantity: count,
  floor,
  lotCount: count,
  price: amount,
  priceExcludingFees: amount,
  renterFees: amount,
  rentalPledge: amount,
  inventoryPrice: amount,
  rentalCharges: amount,
  feesPercentage: amount,
  condominiumFees: amount,
  feesResponsibility: code(FEES_RESPONSIBILITIES),
  surface: amount,
  landSurface: amount,
  elevator: flag,
  furnished: flag,
  pictures: texts,
  picturesRemote: texts,
});

const station = z.object({
  id: sourceId,
  name: text,
  lines: z
    .array(z.object({ id: sourceId, name: text, number: text, color: text, routeName: text }))
    .max(LIST_LENGTH_MAX)
    .nullish()
    .transform((lines) => lines ?? []),
});

/** A place whose coordinates are both null is as unknown as none. */
const locations = z.preprocess(
  (value) => (isNullPlace(value) ? null : value),
  unknownAsNull(z.object({ lat: z.number().min(-90).max(90), lon: z.number().min(-180).max(180) })),
);

function isNullPlace(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { lat, lon } = value as { lat?: unknown; lon?: unknown };
  return lat === null && lon === null;
}

const propertySchema = z.object({
  uuid,
  title: text,
  description: text,
  transactionType: code(TRANSACTION_TYPES),
  propertyType: code(PROPERTY_TYPES),
  price: amount,
  surface: amount,
  landSurface: amount,
  room: count,
  bedroom: count,
  floor,
  elevator: flag,
  furnished: flag,
  createdAt: unknownAsNull(instant),
  pictures: unknownAsNull(textList),
  stations: unknownAsNull(z.array(station).max(LIST_LENGTH_MAX)),
  locations,
  city: unknownAsNull(z.object({ insee: text, zipcode: text, name: text })),
});

const messageSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('upsert'), crawledAt: instant, property: propertySchema, advert: advertSchema }),
  z.object({
    kind: z.literal('expire'),
    crawledAt: instant,
    property: z.object({ uuid }),
    advert: z.object({ uuid }),
    expiredAt: unknownAsNull(instant),
  }),
]);
