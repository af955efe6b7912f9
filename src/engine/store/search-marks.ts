/** A client's marks on properties in a search. A hidden property is in none of the search's lists and e-mails. */

export const MARK_STATES = ['kept', 'hidden'] as const;
export type MarkState = (typeof MARK_STATES)[number];

export interface PropertyMark {
  /** Null if there is only a reason or a note. */
  readonly state: MarkState | null;
  readonly reason: string | null;
  readonly note: string | null;
  readonly markedAt: Date | null;
}

/** Columns of `k`: qualified, because properties have a `state` too. */
export const MARK_COLUMNS = 'k.state, k.reason, k.note, k.marked_at as "markedAt"';

/** Whether `row`, which has `search_number` and `property_uuid`, has this mark. Served by the primary key. */
export function isMarked(row: string, state: MarkState): string {
  return `exists (select from search_marks k where k.search_number = ${row}.search_number
    and k.property_uuid = ${row}.property_uuid and k.state = '${state}')`;
}

/** Whether `row` is in a list of those with a mark or, if that is null, of those that are not hidden. */
export function isListed(row: string, mark: MarkState | null): string {
  return mark === null ? `not ${isMarked(row, 'hidden')}` : isMarked(row, mark);
}
