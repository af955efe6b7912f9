/**
 * Removes and reports members of an intake message that the contract does not define. Otherwise a misspelt member,
 * which has no effect, would go unnoticed. A limited number is reported per message.
 */

import { LIST_LENGTH_MAX, MESSAGE_SCHEMAS, type SentMessage } from './intake-schema.ts';

export interface UnknownMember {
  /** For example `advert.prix`, without positions in lists. */
  readonly path: string;
  readonly name: string;
  /** Names that the object may have instead. */
  readonly known: readonly string[];
}

export type ReportUnknown = (member: UnknownMember) => void;

/** Names that an object may have, with the shape of each value; null for a plain value. */
type Shape = ReadonlyMap<string, Shape | null>;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  /** Schema of a list's items, see `list` of the intake schema. */
  readonly else?: { readonly items: Schema };
}

/** Not reported, because the specification lists this member. It means the same as `crawledAt`. */
const WITHOUT_EFFECT = 'advert.lastCrawledAt';
const REPORTED_MAX = 20;

const shapeOf = ({ properties, else: longer }: Schema): Shape | null => {
  if (properties === undefined) return longer === undefined ? null : shapeOf(longer.items);
  return new Map(Object.entries(properties).map(([name, schema]) => [name, shapeOf(schema)]));
};

const UPSERT = shapeOf(MESSAGE_SCHEMAS.upsert as Schema) as Shape;
/** A message that expires an advert may also have all members of other messages. */
const SHAPES: Readonly<Record<SentMessage['kind'], Shape>> = {
  upsert: UPSERT,
  expire: new Map([...(shapeOf(MESSAGE_SCHEMAS.expire as Schema) as Shape), ...UPSERT]),
};

/** Removes from `sent` all members that the contract does not define, within the objects and lists that it defines. */
export function dropUnknownMembers(sent: object, kind: SentMessage['kind'], report: ReportUnknown): void {
  let reported = 0;

  function look(value: unknown, shape: Shape, path: string): void {
    if (Array.isArray(value)) {
      // An `upsert` with a longer list is refused anyway.
      if (value.length <= LIST_LENGTH_MAX) for (const item of value) look(item, shape, path);
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    const members = value as Record<string, unknown>;
    for (const name in members) {
      const below = shape.get(name);
      if (below === undefined) {
        delete members[name];
        note(name, shape, path);
      } else if (below !== null) look(members[name], below, `${path}${name}.`);
    }
  }

  function note(name: string, shape: Shape, prefix: string): void {
    const path = prefix + name;
    if (reported === REPORTED_MAX || path === WITHOUT_EFFECT) return;
    reported += 1;
    report({ path, name, known: [...shape.keys()] });
  }

  look(sent, SHAPES[kind], '');
}
