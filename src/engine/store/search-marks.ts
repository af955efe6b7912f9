/** A client's marks on properties in a search. Lists and e-mails of the search omit hidden properties. */

export const MARK_STATES = ['kept', 'hidden'] as const;
export type MarkState = (typeof MARK_STATES)[number];

export interface PropertyMark {
  /** Null if there is only a reason or a note. */
  readonly state: MarkState | null;
  readonly reason: string | null;
  readonly note: string | null;
  readonly markedAt: Date | null;
}

/** Columns of `search_marks k`. They are qualified, because properties also have a column `state`. */
export const MARK_COLUMNS = 'k.state, k.reason, k.note, k.marked_at as "markedAt"';

/** SQL: whether `row` (with `search_number` and `property_uuid`) has the mark. Served by the primary key. */
export function isMarked(row: string, state: MarkState): string {
  return `exists (select from search_marks k where k.search_number = ${row}.search_number
    and k.property_uuid = ${row}.property_uuid and k.state = '${state}')`;
}

/** SQL: whether a list shows `row`. A list shows rows with `mark` or, if that is null, rows that are not hidden. */
export function isListed(row: string, mark: MarkState | null): string {
  return mark === null ? `not ${isMarked(row, 'hidden')}` : isMarked(row, mark);
}
