/** Communes by the names that adverts give them: their own, those of communes merged into them, and of localities. */

import type { CommuneRecord } from './commune-records.ts';
import { placeKey } from './place-names.ts';

const ARTICLE = /^(?:l|le|la|les|los|aux) /;

interface NameKeys {
  readonly own: string;
  readonly others: readonly string[];
}

export class CommuneNames {
  readonly #communes: readonly CommuneRecord[];
  readonly #communeOf: (insee: string) => CommuneRecord | null;
  /** Folding is slow: each commune's names are folded once, when they are first compared. */
  readonly #keysOf = new Map<CommuneRecord, NameKeys>();
  /** All communes by own names, by others, by own ones without article; made when first all of them are asked for. */
  #byKey: readonly CommunesByKey[] | null = null;

  constructor(communes: readonly CommuneRecord[], communeOf: (insee: string) => CommuneRecord | null) {
    this.#communes = communes;
    this.#communeOf = communeOf;
  }

  /**
   * The commune that `name` means among `communes`: the first of the same name, one of its own before another one; else
   * the only one whose name begins like it (`Saint-Maur` for `Saint-Maur-des-Fossés`).
   */
  pick(communes: readonly CommuneRecord[], name: string | null): CommuneRecord | null {
    const key = communes.length === 0 || name === null ? '' : placeKey(name);
    if (key === '') return null;
    const own = communes.find((commune) => this.#keys(commune).own === key);
    const same = own ?? communes.find((commune) => this.#keys(commune).others.includes(key));
    if (same !== undefined) return same;
    const alike = communes.filter((commune) => {
      const { own, others } = this.#keys(commune);
      return isSameBeginning(own, key) || others.some((known) => isSameBeginning(known, key));
    });
    return alike.length === 1 ? (alike[0] as CommuneRecord) : null;
  }

  /** The only commune of all with this name that fits: an own name goes before others, a whole one before one without article. */
  only(name: string | null, fits: (commune: CommuneRecord) => boolean): CommuneRecord | null {
    const key = name === null ? '' : placeKey(name);
    if (key === '') return null;
    this.#byKey ??= this.#index();
    for (const table of this.#byKey) {
      const [first, ...more] = (table.get(key) ?? []).filter(fits);
      if (first !== undefined) return more.length === 0 ? first : null;
    }
    return null;
  }

  #keys(commune: CommuneRecord): NameKeys {
    const known = this.#keysOf.get(commune);
    if (known !== undefined) return known;
    // Who says Paris and stands in the 15th arrondissement means it.
    const parent = commune.parentInsee === null ? null : this.#communeOf(commune.parentInsee);
    const others = parent === null ? commune.otherNames : [parent.officialName];
    const keys = { own: placeKey(commune.officialName), others: others.map(placeKey) };
    this.#keysOf.set(commune, keys);
    return keys;
  }

  #index(): readonly CommunesByKey[] {
    const own = new Map<string, CommuneRecord[]>();
    const others = new Map<string, CommuneRecord[]>();
    const bare = new Map<string, CommuneRecord[]>();
    for (const commune of this.#communes) {
      const keys = this.#keys(commune);
      add(own, keys.own, commune);
      if (ARTICLE.test(keys.own)) add(bare, keys.own.replace(ARTICLE, ''), commune);
      if (commune.parentInsee === null) for (const key of new Set(keys.others)) add(others, key, commune);
    }
    return [own, others, bare];
  }
}

type CommunesByKey = ReadonlyMap<string, readonly CommuneRecord[]>;

function add(table: Map<string, CommuneRecord[]>, key: string, commune: CommuneRecord): void {
  const communes = table.get(key);
  if (communes === undefined) table.set(key, [commune]);
  else if (!communes.includes(commune)) communes.push(commune);
}

/** Whole words, articles aside. */
function isSameBeginning(a: string, b: string): boolean {
  const left = `${a.replace(ARTICLE, '')} `;
  const right = `${b.replace(ARTICLE, '')} `;
  return left.startsWith(right) || right.startsWith(left);
}
