/**
 * The inflected forms of a dictionary entry, by the suffix rules of its hunspell `.aff` file (man 5 hunspell). Suffixes
 * of the French dictionary inflect; its prefixes elide (`l'`) or derive (`kilo`), and are left alone. Of verbs, the
 * simple past and the subjunctives are left out (decisions, section 2): nobody searches them, and *terrasse* would be a
 * form of *terrer*, *voie* one of *voir*.
 */

import { foldText } from '../text.ts';

interface SuffixRule {
  /** Removed from the end of the word before `add` takes its place. */
  readonly strip: string;
  readonly add: string;
  /** What the word must end with. */
  readonly condition: RegExp;
}

/** By flag, in the order of the file. */
export type SuffixRules = ReadonlyMap<string, readonly SuffixRule[]>;

/** Throws when the file's flags are not of two characters each. */
export function readSuffixRules(aff: string): SuffixRules {
  if (!/^FLAG long$/m.test(aff)) throw new Error('the .aff file does not say FLAG long');
  const rules = new Map<string, SuffixRule[]>();
  for (const [, flag, strip, add, condition] of aff.matchAll(/^SFX (\S\S) (\S+) ([^\s/]+)\S* (\S+)$/gm)) {
    // The head of a group of rules: a count where the condition would be.
    if (condition === undefined || (strip === 'Y' && /^\d+$/.test(condition))) continue;
    const rule = { strip: orNothing(strip), add: orNothing(add), condition: new RegExp(`${condition}$`, 'u') };
    const ofFlag = rules.get(flag as string);
    if (ofFlag === undefined) rules.set(flag as string, [rule]);
    else ofFlag.push(rule);
  }
  return rules;
}

/** A zero stands for the empty string. */
function orNothing(letters: string | undefined): string {
  return letters === undefined || letters === '0' ? '' : letters;
}

/** The folded forms of an entry of the `.dic` file, the headword first. Flags without suffix rules are ignored. */
export function formsOf(entry: string, rules: SuffixRules): ReadonlySet<string> {
  const [headword = '', flags = ''] = entry.split('/');
  const forms = new Set([foldText(headword)]);
  for (const flag of flags.match(/../gu) ?? []) {
    const inflected = (rules.get(flag) ?? [])
      .filter(({ strip, condition }) => headword.endsWith(strip) && condition.test(headword))
      .map(({ strip, add }) => ({ add, form: foldText(headword.slice(0, headword.length - strip.length) + add) }));
    for (const { form } of withoutOtherTenses(inflected)) forms.add(form);
  }
  return forms;
}

interface Inflected {
  readonly add: string;
  readonly form: string;
}

const IMPERFECT = /(?:ais|ait|ions|iez|aient)$/;
const SIMPLE_PAST_OF_NOUS = /[âîûï]n?mes$/;
const FUTURE = /r(?:a|ai|ont)$/;
const CONDITIONAL = /r(?:ais|ait|ions|iez|aient)$/;

/**
 * The rules of a verb stand in the order of its tenses: participles and present, imperfect, simple past, future,
 * conditional, subjunctives, imperative. So the simple past is what stands between the imperfect and the future, and
 * what stands behind the conditional are subjunctives and the present again.
 */
function withoutOtherTenses(inflected: readonly Inflected[]): readonly Inflected[] {
  const past = inflected.findIndex(({ add }) => SIMPLE_PAST_OF_NOUS.test(add));
  // Verbs like *neiger* have no persons: their simple past stands before the future.
  const beyond = past === -1 ? inflected.findIndex(({ add }) => FUTURE.test(add)) : past;
  const start = 1 + inflected.slice(0, Math.max(beyond, 0)).findLastIndex(({ add }) => IMPERFECT.test(add));
  if (start === 0) return inflected;
  const later = inflected.slice(start);
  const future = later.findIndex(({ add }) => FUTURE.test(add));
  const conditional = later.findLastIndex(({ add }) => CONDITIONAL.test(add));
  return [...inflected.slice(0, start), ...(future === -1 ? [] : later.slice(future, conditional + 1))];
}
