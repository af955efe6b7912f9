/**
 * Computes the inflected forms of a dictionary entry from its parts of speech (`po:`) and the suffix rules of
 * hunspell's `.aff` file (man 5 hunspell). Prefixes are ignored, because in French they only elide (`l'`) or derive
 * (`kilo`). Each mood of a verb is a separate set (decisions, section 2). The simple past and the subjunctives are
 * omitted, because people do not search for them.
 */

import { foldText } from '../text.ts';

interface SuffixRule {
  /** Removed from the end of the word before `add` is appended. */
  readonly strip: string;
  readonly add: string;
  /** Condition on the end of the word. */
  readonly condition: RegExp;
  /** Moods and tenses of a verb form; empty for other words. */
  readonly tags: readonly string[];
  readonly isPlural: boolean;
}

/** The rules by flag, in the order of the file. */
export type SuffixRules = ReadonlyMap<string, readonly SuffixRule[]>;

/** Forms that match one another. */
export interface FormSet {
  readonly headword: string;
  readonly kind: FormKind;
  readonly forms: ReadonlySet<string>;
  /** The forms that are not plurals. */
  readonly singulars: ReadonlySet<string>;
}

/** `word`: neither a verb nor a name. `name`: a person, a place or a title. Verbs are grouped by mood. */
export type FormKind =
  | 'word'
  | 'name'
  | 'participle'
  | 'gerund'
  | 'infinitive'
  | 'indicative'
  | 'conditional'
  | 'imperative';

const KIND_OF_TAG: Readonly<Record<string, FormKind>> = {
  'po:infi': 'infinitive',
  'po:ppas': 'participle',
  'po:ppre': 'gerund',
  'po:ipre': 'indicative',
  'po:iimp': 'indicative',
  'po:ifut': 'indicative',
  'po:cond': 'conditional',
  'po:impe': 'imperative',
};
const OTHER_TENSES: ReadonlySet<string> = new Set(['po:ipsi', 'po:spre', 'po:simp']);
const NAMES: ReadonlySet<string> = new Set(['po:npr', 'po:prn', 'po:patr', 'po:titr']);

/** Throws if the flags of the file are not pairs of characters (`FLAG long`). */
export function readSuffixRules(aff: string): SuffixRules {
  if (!/^FLAG long$/m.test(aff)) throw new Error('the .aff file must have the line "FLAG long"');
  const rules = new Map<string, SuffixRule[]>();
  for (const [, flag, strip, add, condition, tags = ''] of aff.matchAll(
    /^SFX (\S\S) (\S+) ([^\s/]+)\S* (\S+)(?: (.+))?$/gm,
  )) {
    const rule = {
      strip: orNothing(strip),
      add: orNothing(add),
      condition: new RegExp(`${condition}$`, 'u'),
      tags: tags.split(' ').filter((tag) => tag.startsWith('po:')),
      isPlural: /\bis:pl\b/.test(tags),
    };
    const ofFlag = rules.get(flag as string);
    if (ofFlag === undefined) rules.set(flag as string, [rule]);
    else ofFlag.push(rule);
  }
  return rules;
}

/** In the file, `0` means the empty string. */
function orNothing(letters: string | undefined): string {
  return letters === undefined || letters === '0' ? '' : letters;
}

/** The folded forms of an entry of the `.dic` file. Flags without suffix rules are ignored. */
export function formSetsOf(entry: string, rules: SuffixRules): readonly FormSet[] {
  const [word = '', ...tags] = entry.split(' ');
  const [headword = '', flags = ''] = word.split('/');
  const own = kindsOf(tags)[0] ?? (tags.some((tag) => NAMES.has(tag)) ? 'name' : 'word');
  const sets = new Map<FormKind, { forms: Set<string>; singulars: Set<string> }>();
  const add = (kind: FormKind, form: string, isPlural = false) => {
    const set = sets.get(kind) ?? { forms: new Set(), singulars: new Set() };
    sets.set(kind, set);
    set.forms.add(foldText(form));
    if (!isPlural) set.singulars.add(foldText(form));
  };
  if (!tags.some((tag) => /^po:v\d/.test(tag))) add(own, headword);
  for (const flag of flags.match(/../gu) ?? []) {
    for (const { strip, add: ending, condition, tags: moods, isPlural } of rules.get(flag) ?? []) {
      if (!headword.endsWith(strip) || !condition.test(headword)) continue;
      const form = headword.slice(0, headword.length - strip.length) + ending;
      const kinds = kindsOf(moods);
      if (kinds.length === 0 && !moods.some((tag) => OTHER_TENSES.has(tag))) add(own, form, isPlural);
      for (const kind of kinds) add(kind, form, isPlural);
    }
  }
  return [...sets].map(([kind, { forms, singulars }]) => ({ headword: foldText(headword), kind, forms, singulars }));
}

function kindsOf(tags: readonly string[]): readonly FormKind[] {
  return tags.flatMap((tag) => KIND_OF_TAG[tag] ?? []);
}
