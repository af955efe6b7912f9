/**
 * JSON without the names of members, which are half of the stored bytes of an advert: a shape defines the position of
 * each value. Rows of older versions lack the last values, so a new member is appended to its shape, and no member is
 * ever moved or removed.
 */

/** A value as it is; a list of values that is empty when it is not known; a record, or null; a list of records, or null. */
type Kind = 'value' | 'list' | Shape<never> | readonly [Shape<never>];

export interface Shape<T> {
  readonly names: readonly (keyof T & string)[];
  readonly kinds: readonly Kind[];
}

export function shapeOf<T>(kinds: { readonly [name in keyof Required<T>]: Kind }): Shape<T> {
  return { names: Object.keys(kinds) as (keyof T & string)[], kinds: Object.values(kinds) };
}

type Packed = readonly unknown[];

/** For `JSON.stringify`. Unknown values at the end are left out. */
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

/** Every member is present, in the same order: its results are cheap to copy. */
export function unpack<T>(packed: Packed, { names, kinds }: Shape<T>): T {
  const value: Partial<Record<string, unknown>> = {};
  for (let i = 0; i < names.length; i++) value[names[i] as string] = member(packed[i], kinds[i] as Kind);
  return value as T;
}

function member(packed: unknown, kind: Kind): unknown {
  if (packed === undefined || packed === null) return kind === 'list' ? [] : null;
  if (typeof kind === 'string') return packed;
  return isShape(kind) ? unpack(packed as Packed, kind) : (packed as Packed[]).map((each) => unpack(each, kind[0]));
}

function isShape(kind: Kind): kind is Shape<never> {
  return 'names' in (kind as object);
}
