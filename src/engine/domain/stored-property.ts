/** Converts the state of a property to text and back. Read `Shape` before you add a member. */

import type { AdvertContent, AdvertEvent, FieldChange } from './advert.ts';
import type { Uuid } from './ids.ts';
import type { PropertyState, StatedProperty, Station, StationLine, StoredAdvert } from './property.ts';
import { eachFlag } from './property-flags.ts';

/** The kind of a member: a value, a list of values (empty if unknown), a record or null, a list of records or null. */
type Kind = 'value' | 'list' | Shape<never> | readonly [Shape<never>];

/**
 * The position of each member in JSON without member names, which would double the size of a stored advert. Rows of
 * older versions lack the last values. Therefore, append a new member to its shape, and never move or remove a member.
 */
interface Shape<T> {
  readonly names: readonly (keyof T & string)[];
  readonly kinds: readonly Kind[];
  /** A record whose members are all unknown. Copying it is five times as fast as setting each member. */
  readonly empty: object;
}

const NONE: readonly never[] = Object.freeze([]);

export function shapeOf<T>(kinds: { readonly [name in keyof Required<T>]: Kind }): Shape<T> {
  const empty = Object.entries(kinds).map(([name, kind]) => [name, kind === 'list' ? NONE : null]);
  return {
    names: Object.keys(kinds) as (keyof T & string)[],
    kinds: Object.values(kinds),
    empty: Object.fromEntries(empty),
  };
}

type Packed = readonly unknown[];

/** Returns a value for `JSON.stringify`. Unknown values at the end are omitted. */
export function pack<T>(value: T, { names, kinds }: Shape<T>): Packed {
  const packed = new Array<unknown>(names.length);
  let length = 0;
  for (let i = 0; i < names.length; i++) {
    const member = packedMember(value[names[i] as keyof T], kinds[i] as Kind);
    packed[i] = member;
    if (member !== null) length = i + 1;
  }
  packed.length = length;
  return packed;
}

function packedMember(member: unknown, kind: Kind): unknown {
  if (member === undefined || member === null) return null;
  if (kind === 'value') return member;
  if (kind === 'list') return (member as readonly unknown[]).length === 0 ? null : member;
  return isShape(kind) ? pack(member as never, kind) : (member as never[]).map((each) => pack(each, kind[0]));
}

/** Returns a record with every member, always in the same order, so that it is cheap to copy. */
export function unpack<T>(packed: Packed, { names, kinds, empty }: Shape<T>): T {
  const value: Partial<Record<string, unknown>> = { ...empty };
  const length = Math.min(packed.length, names.length);
  for (let i = 0; i < length; i++) {
    if (packed[i] !== null) value[names[i] as string] = member(packed[i], kinds[i] as Kind);
  }
  return value as T;
}

function member(packed: unknown, kind: Kind): unknown {
  if (typeof kind === 'string') return packed;
  return isShape(kind) ? unpack(packed as Packed, kind) : (packed as Packed[]).map((each) => unpack(each, kind[0]));
}

function isShape(kind: Kind): kind is Shape<never> {
  return 'names' in (kind as object);
}

type Known<Name extends keyof AdvertContent> = NonNullable<AdvertContent[Name]>;

const ENERGY = shapeOf<Known<'energy'>>({ category: 'value', value: 'value' });

/** Flags that are added later are stored after all other members. */
const { elevator, furnished, ...laterFlags } = eachFlag(() => 'value' as const);

/** Rarely known members are last, because `pack` omits nulls at the end. */
const CONTENT = shapeOf<AdvertContent>({
  title: 'value',
  description: 'value',
  url: 'value',
  price: 'value',
  surface: 'value',
  pictures: 'list',
  contact: shapeOf<Known<'contact'>>({
    agency: 'value',
    email: 'value',
    name: 'value',
    phone: 'value',
    reference: 'value',
    fax: 'value',
  }),
  publisher: shapeOf<Known<'publisher'>>({ category: 'value', name: 'value', type: 'value' }),
  createdAt: 'value',
  updatedAt: 'value',
  energy: ENERGY,
  greenHouseGas: ENERGY,
  floor: 'value',
  elevator,
  furnished,
  constructionYear: 'value',
  floorQuantity: 'value',
  features: 'list',
  virtualTour: 'value',
  landSurface: 'value',
  lotCount: 'value',
  priceExcludingFees: 'value',
  feesPercentage: 'value',
  feesResponsibility: 'value',
  condominiumFees: 'value',
  rentalPledge: 'value',
  rentalCharges: 'value',
  renterFees: 'value',
  inventoryPrice: 'value',
  picturesRemote: 'list',
  ...laterFlags,
});

const LINE = shapeOf<StationLine>({ id: 'value', name: 'value', number: 'value', color: 'value', routeName: 'value' });

const PROPERTY = shapeOf<StatedProperty>({
  title: 'value',
  description: 'value',
  transactionType: 'value',
  propertyType: 'value',
  createdAt: 'value',
  city: shapeOf<NonNullable<StatedProperty['city']>>({ insee: 'value', zipcode: 'value', name: 'value' }),
  locations: shapeOf<NonNullable<StatedProperty['locations']>>({ lat: 'value', lon: 'value' }),
  room: 'value',
  bedroom: 'value',
  floor: 'value',
  elevator,
  furnished,
  price: 'value',
  surface: 'value',
  landSurface: 'value',
  pictures: 'value',
  stations: [shapeOf<Station>({ id: 'value', name: 'value', lines: [LINE] })],
  ...laterFlags,
});

const EVENT = shapeOf<Omit<AdvertEvent, 'advertUuid'>>({
  kind: 'value',
  createdAt: 'value',
  field: shapeOf<Omit<FieldChange, 'daysAway' | 'reason'>>({
    fieldName: 'value',
    fieldOldValue: 'value',
    fieldNewValue: 'value',
    percentVariation: 'value',
  }),
});

const ADVERT = shapeOf<StoredAdvert>({
  uuid: 'value',
  content: CONTENT,
  property: PROPERTY,
  firstCrawledAt: 'value',
  changedAt: 'value',
  events: [EVENT],
  createdBefore: 'value',
  expiredAt: 'value',
  lastLiveCrawledAt: 'value',
});

const STATE = shapeOf<PropertyState>({ uuid: 'value', adverts: [ADVERT], distances: 'value' });

/** SQL paths of titles and descriptions in a packed advert: those of the property, then those of the advert. */
export const PACKED_TEXTS = ['{2,0}', '{2,1}', '{1,0}', '{1,1}'] as const;

export function stateText(state: PropertyState): string {
  return JSON.stringify(pack(state, STATE));
}

function advertText(advert: StoredAdvert): string {
  return JSON.stringify(pack(advert, ADVERT));
}

export function readState(text: string): PropertyState {
  const { uuid, adverts, distances } = unpack(JSON.parse(text), STATE);
  return { uuid, adverts: adverts.map(withEvents), ...(distances && { distances }) };
}

function withEvents(advert: StoredAdvert): StoredAdvert {
  const { uuid, events } = advert;
  return Object.assign(advert, { events: events.map((event) => eventOf(uuid, event)) });
}

function eventOf(advertUuid: Uuid, { kind, createdAt, field }: AdvertEvent): AdvertEvent {
  return { kind, advertUuid, createdAt, field };
}

/**
 * Maximum size of a property's state (decisions, section 8). Every change reads, writes and sends the whole state, so
 * an unlimited state would delay all other properties.
 */
export interface PropertyBounds {
  readonly advertsMax: number;
  /** Size of the state as stored. */
  readonly bytesMax: number;
}

/** A cache: adverts are immutable, so each is measured only once. */
const measured = new WeakMap<StoredAdvert, number>();
const FRAME_BYTES = 64;

function advertBytes(advert: StoredAdvert): number {
  const known = measured.get(advert);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(advertText(advert)) + 1;
  measured.set(advert, bytes);
  return bytes;
}

/** Approximate number of bytes of the stored state. */
export function stateBytes({ adverts }: PropertyState): number {
  return adverts.reduce((sum, advert) => sum + advertBytes(advert), FRAME_BYTES);
}

export interface StateSize {
  readonly adverts: number;
  readonly bytes: number;
}

export function sizeOf(state: PropertyState): StateSize {
  return { adverts: state.adverts.length, bytes: stateBytes(state) };
}

/** The reason why the property must not grow from `before` to `after`, with the limit; null if it may grow. */
export function excessOf(before: StateSize | null, after: StateSize, bounds: PropertyBounds): string | null {
  const { advertsMax, bytesMax } = bounds;
  if (after.adverts > advertsMax && after.adverts > (before?.adverts ?? 0)) {
    return `the property would have ${after.adverts} adverts, more than the limit (${advertsMax})`;
  }
  if (after.bytes <= bytesMax || (before !== null && after.bytes <= before.bytes)) return null;
  return `the property would have ${after.bytes} bytes of adverts, more than the limit (${bytesMax})`;
}

/**
 * The reason why a property of this size has no room for another advert, as in `excessOf`. Null if there may be room:
 * `excessOf` then decides by the state.
 */
export function excessOfAnother(before: StateSize, advert: StoredAdvert, bounds: PropertyBounds): string | null {
  return excessOf(before, { adverts: before.adverts + 1, bytes: before.bytes + advertBytes(advert) }, bounds);
}
