/**
 * Reads numbers as people and programs write them: with currencies and units, grouped digits, and a dot or comma as the
 * decimal sign. A number such as 1.250, with one sign before exactly three digits, is ambiguous. The mapping decides
 * its meaning, or else the habit learned from the source's other numbers. Without either, the value is unknown. Habits
 * are stored with the source and used for its next files.
 */

import { floorsIn } from './floors.ts';

export type DecimalSign = '.' | ',';

/** Decimal sign by member; the empty name has the sign of the whole source. */
export type DecimalHabits = Readonly<Record<string, DecimalSign>>;

/** Completes a sentence such as `3 of 80 values of price are` (tally.ts). */
export const NO_NUMBER = 'not a number';
const OTHER_CURRENCY = 'in a currency other than euro';
const AMBIGUOUS = 'ambiguous: a dot or comma before three digits may group digits or separate decimals';

type Parsed =
  | { readonly kind: 'number'; readonly value: number; readonly shows: DecimalSign | null }
  /** `sign` either groups digits (`grouped`) or separates decimals (`parted`). */
  | { readonly kind: 'ambiguous'; readonly sign: DecimalSign; readonly grouped: number; readonly parted: number }
  | { readonly kind: 'fault'; readonly fault: string };

export type NumberReader = ReturnType<typeof createNumberReader>;

/** `decimal`: the mapping's sign, which overrides the habits. */
export function createNumberReader(habits: DecimalHabits = {}, decimal?: DecimalSign) {
  const shown = new Map<string, { '.': number; ',': number }>();
  /** Number of ambiguous values by member; `decided`: the habit that was applied to them. */
  const ambiguous = new Map<string, number>();
  const decided = new Map<string, DecimalSign>();
  const show = (name: string, sign: DecimalSign): void => {
    const counts = shown.get(name) ?? { '.': 0, ',': 0 };
    counts[sign] += 1;
    shown.set(name, counts);
  };
  const learned = (): DecimalHabits => {
    const changed = [...shown].flatMap(([name, counts]) => {
      const sign = clearSign(counts, habits[name], ambiguous.get(name));
      return sign === null ? [] : [[name, sign] as const];
    });
    // Once a habit has decided values of a member, the source's other members no longer affect this member.
    return { ...habits, ...Object.fromEntries(decided), ...Object.fromEntries(changed) };
  };
  return {
    /** The number, or the reason why the text is not one. */
    read(written: string, member: string): number | string {
      const parsed = parseNumber(written, member);
      if (parsed.kind === 'fault')
        return (member === 'floor' || member === 'floorQuantity' ? floorsIn(written)[member] : null) ?? parsed.fault;
      if (parsed.kind === 'number') {
        if (parsed.shows !== null) for (const name of [member, '']) show(name, parsed.shows);
        return parsed.value;
      }
      const { sign, grouped, parted } = parsed;
      if (decimal !== undefined) return decimal === sign ? parted : grouped;
      ambiguous.set(member, (ambiguous.get(member) ?? 0) + 1);
      const habit = habitOf(habits, member);
      // A price never has three decimals: 350.000 is not 350 €, even if the source's surfaces use a decimal dot.
      if (habit === null || (habit === sign && MONEY.has(member))) return AMBIGUOUS;
      decided.set(member, habit);
      return habit === sign ? parted : grouped;
    },
    /** The habits including the values that were read. */
    learned,
    /** True if the updated habits may change a value that was already read. */
    isOutdated: () => {
      const now = learned();
      return [...ambiguous.keys()].some((member) => habitOf(now, member) !== habitOf(habits, member));
    },
  };
}

function habitOf(habits: DecimalHabits, member: string): DecimalSign | null {
  return habits[member] ?? habits[''] ?? null;
}

const CLEAR_FROM = 10;

/**
 * The sign that at least ten times as many values show as the other one; null if neither. So that a few values typed
 * differently do not change a habit, it counts as a hundredth of the values read by it, at least as one.
 */
function clearSign(
  counts: Readonly<Record<DecimalSign, number>>,
  habit: DecimalSign | undefined,
  readByHabit = 0,
): DecimalSign | null {
  const against = (sign: DecimalSign): number =>
    counts[otherSign(sign)] + (habit === otherSign(sign) ? Math.max(1, readByHabit / 100) : 0);
  const signs: readonly DecimalSign[] = ['.', ','];
  return signs.find((sign) => counts[sign] > 0 && counts[sign] >= CLEAR_FROM * against(sign)) ?? null;
}

const SQUARE_METRES = /m²|m2|m\^2|qm|mq|sqm|sq\.? ?m\.?|m[èe]tres? carr[ée]s?|metros cuadrados/;
const EURO = '(?:€|euros?|eur)';
const TERMS = '(?:ttc|h\\.?t\\.?|hai|fai|f\\.a\\.i\\.|c\\.?c\\.?|h\\.?c\\.?|net vendeur|charges comprises|\\*)';
const A_MONTH = '(?:/ ?(?:mois|month|monat|mes|mese)|par mois|per month|pcm)';
const A_YEAR = '(?:/ ?(?:an|year|jahr|año|anno)|par an|per year)';
const money = (period: string): RegExp => new RegExp(`${EURO}?(?: ?${TERMS})?(?: ?${period})?(?: ?${TERMS})?`);

const MONTHLY = money(A_MONTH);
const MONEY: ReadonlyMap<string, RegExp> = new Map([
  ['price', MONTHLY],
  ['priceExcludingFees', MONTHLY],
  ['renterFees', MONTHLY],
  ['rentalPledge', MONTHLY],
  ['inventoryPrice', MONTHLY],
  ['rentalCharges', MONTHLY],
  ['condominiumFees', money(A_YEAR)],
]);

/** Accepted after a number: the unit that the contract uses for the member, in upper or lower case. */
const UNITS: ReadonlyMap<string, RegExp> = new Map([
  ...MONEY,
  ['surface', SQUARE_METRES],
  ['landSurface', SQUARE_METRES],
  ['energy.value', /kwh ?(?:ep)?[ /.(]*(?:m²|m2)?[ /.*·]*(?:an|year|jahr|a)?\)?/],
  [
    'greenHouseGas.value',
    /kg ?(?:[eé]q\.? ?)?(?:co2|co₂)?[ -]*(?:[eé]q\.?)?[ /.(]*(?:m²|m2)?[ /.*·]*(?:an|year|jahr|a)?\)?/,
  ],
  ['feesPercentage', /%/],
  ['locations.lat', /°/],
  ['locations.lon', /°/],
  ['room', /pi[èe]ces?|p\.?|pcs\.?|rooms?|zimmer|zi\.|habitaciones/],
  ['bedroom', /chambres?|ch\.?|bedrooms?|beds?|schlafzimmer|dormitorios?/],
  ['floorQuantity', /[ée]tages?|floors?|stories|storeys/],
  ['lotCount', /lots?/],
]);

const CURRENCIES =
  /(?![€])\p{Sc}|(?<!\p{L})(?:chf|s?fr\.?|gbp|usd|cad|aud|pln|czk|kč|sek|nok|dkk|kr\.?|huf|ft|ron|bgn|mad|tnd|xpf|f ?cfp|try|jpy|cny|aed)(?!\p{L})/iu;
/** Checks a currency in a separate value. Null if it is the euro or not stated. */
export function currencyFault(written: string): string | null {
  return written === '' || new RegExp(`^${EURO}$`, 'i').test(written) ? null : OTHER_CURRENCY;
}

/** Matches "no cents", as in `1.250,-` and `1'250.--`. */
const NO_CENTS = /([.,]) ?[-–—]{1,2}$/;

/** Longest accepted text of a number with its unit. Some of the patterns for units are not linear. */
const WRITTEN_LENGTH_MAX = 100;

function parseNumber(written: string, member: string): Parsed {
  if (written.length > WRITTEN_LENGTH_MAX) return { kind: 'fault', fault: NO_NUMBER };
  const text = written
    .replaceAll(/[’ʼ´`']/g, ' ')
    .replaceAll(/[\s\u2007\u202f\u2060\ufeff]+/g, ' ')
    .replaceAll('\u2212', '-')
    .trim();
  const isMoney = MONEY.has(member);
  if (isMoney && CURRENCIES.test(text)) return { kind: 'fault', fault: OTHER_CURRENCY };
  const digits = isMoney ? withoutUnit(text, member).replace(NO_CENTS, '$100') : withoutUnit(text, member);
  return parseDigits(digits, member.startsWith('locations.'));
}

function withoutUnit(text: string, member: string): string {
  const unit = UNITS.get(member);
  if (unit === undefined) return text;
  const bare = text.replace(new RegExp(`(?<=[\\d.,–—-]) ?(?:${unit.source})$`, 'i'), '');
  return MONEY.has(member) ? bare.replace(new RegExp(`^${EURO} ?(?=[\\d+-])`, 'i'), '') : bare;
}

/** `shows`: the decimal sign that the number reveals; null if it reveals none. */
const numberOf = (sign: string, digits: string, shows: DecimalSign | null): Parsed => ({
  kind: 'number',
  value: Number(sign + digits),
  shows,
});

function otherSign(sign: string): DecimalSign {
  return sign === '.' ? ',' : '.';
}

function parseDigits(text: string, isDecimal: boolean): Parsed {
  const [, minus = '', body = ''] = /^([+-]?)([\d., ]+)$/.exec(text) ?? [];
  const hasBlanks = body.includes(' ');
  const [, whole = '', sign = '', decimals = ''] =
    (hasBlanks ? /^(\d{1,3}(?: \d{3})+)(?:([.,])(\d*))?$/ : /^(\d+)(?:([.,])(\d*))?$/).exec(body) ?? [];
  if (whole !== '') {
    const parted = `${whole.replaceAll(' ', '')}.${decimals}`;
    const isAmbiguous = decimals.length === 3 && !hasBlanks && !isDecimal && /^[1-9]\d{0,2}$/.test(whole);
    if (!isAmbiguous) return numberOf(minus, parted, decimals === '' || isDecimal ? null : (sign as DecimalSign));
    const [grouped, value] = [Number(minus + whole + decimals), Number(minus + parted)];
    return { kind: 'ambiguous', sign: sign as DecimalSign, grouped, parted: value };
  }
  // Several groups, or groups followed by decimals after the other sign.
  const [, groups = '', group = '', rest = ''] =
    /^([1-9]\d{0,2}(?:([.,])\d{3})(?:\2\d{3})*)((?:[.,]\d*)?)$/.exec(body) ?? [];
  const isGrouped = groups !== '' && rest[0] !== group && (rest !== '' || groups.length > 7);
  if (!isGrouped) return { kind: 'fault', fault: NO_NUMBER };
  return numberOf(minus, `${groups.replaceAll(group, '')}.${rest.slice(1)}`, otherSign(group));
}
