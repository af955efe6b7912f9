/** What an import of points has read, kept and left out, counted while it runs. */

import { FACILITIES, type Facility } from '../../engine/domain/point-of-interest.ts';

export interface PointImportSummary {
  /** Objects looked at: rows, features, or nodes, ways and relations that have an `amenity`. */
  readonly read: number;
  readonly kept: Readonly<Record<Facility, number>>;
  /** How many were left out, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

export class ImportTally {
  read = 0;
  readonly #kept = Object.fromEntries(FACILITIES.map((facility) => [facility, 0])) as Record<Facility, number>;
  readonly #skipped = new Map<string, number>();

  keep(facility: Facility): void {
    this.#kept[facility]++;
  }

  /** `reason` is one of a few texts: it is a key of the summary. */
  skip(reason: string): void {
    this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
  }

  summary(): PointImportSummary {
    return { read: this.read, kept: { ...this.#kept }, skipped: Object.fromEntries(this.#skipped) };
  }
}
