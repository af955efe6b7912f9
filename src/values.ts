/**
 * Rules that read a single value: a member of a body, a query parameter, or a field of an RPC. Each rule has a JSON
 * Schema for the API's description, and refuses a value with a `Fault`: a sentence in both languages, and a code.
 */

import Big from 'big.js';
import { z } from 'zod';
import type { InLanguages } from './engine/domain/criterion-words.ts';
import { parseUuid, type Uuid } from './engine/domain/ids.ts';
import { isBlank, isStorable } from './engine/domain/text.ts';
import { departmentIdOf } from './engine/reference/commune-records.ts';
import { both, typeset } from './languages.ts';

/** Follows the name of the member, parameter or field. */
export type Sentence = InLanguages<string>;

export { both, typeset };

/** In the French format: `250 000`. */
export const count = (value: number): string => value.toLocaleString('fr');

/** The codes of violations (`rest/problem.ts`) that concern a single value. */
type FaultCode =
  | `invalid_${'type' | 'value' | 'format' | 'text' | 'time' | 'iri'}`
  | `${'below_min' | 'above_max'}imum`
  | 'too_long';

export class Fault {
  readonly message: Sentence;
  readonly code: FaultCode;
  constructor(message: Sentence, code: FaultCode = 'invalid_value') {
    this.message = message;
    this.code = code;
  }
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ValueRule<Value> {
  readonly schema: JsonSchema;
  /** `baseUrl` is the public URL of this service. IRIs may begin with it. */
  readonly read: (value: unknown, baseUrl?: string) => Value | Fault;
}

export const FLAG: ValueRule<boolean> = {
  schema: { type: 'boolean' },
  read: (value) =>
    typeof value === 'boolean'
      ? value
      : new Fault(both('must be true or false', 'doit être true ou false'), 'invalid_type'),
};

export const integer = (min: number, max: number): ValueRule<number> => numeric('integer', min, max);
export const number = (min: number, max: number): ValueRule<number> => numeric('number', min, max);

function numeric(type: 'integer' | 'number', min: number, max: number): ValueRule<number> {
  const [en, fr] = type === 'integer' ? ['an integer', 'un nombre entier'] : ['a number', 'un nombre'];
  const message = both(`must be ${en} from ${min} to ${max}`, `doit être ${fr} de ${count(min)} à ${count(max)}`);
  return {
    schema: { type, minimum: min, maximum: max },
    read(value) {
      const isWrong = typeof value !== 'number' || !(type === 'integer' ? Number.isInteger : Number.isFinite)(value);
      if (isWrong) return new Fault(message, 'invalid_type');
      if (value < min) return new Fault(message, 'below_minimum');
      return value > max ? new Fault(message, 'above_maximum') : value;
    },
  };
}

export function numberAboveZero(max: number): ValueRule<number> {
  const message = both(
    `must be a number above 0 and at most ${max}`,
    `doit être un nombre au-dessus de 0, et ${count(max)} au plus`,
  );
  return {
    schema: { type: 'number', minimum: 0, maximum: max },
    read: (value) => {
      if (typeof value !== 'number' || !Number.isFinite(value)) return new Fault(message, 'invalid_type');
      return value > 0 && value <= max ? value : new Fault(message);
    },
  };
}

/** `blank` is the fault of a text without visible characters. If `blank` is absent, such a text is accepted. */
export function text(lengthMax: number, blank?: Sentence): ValueRule<string> {
  return {
    schema: { type: 'string', maxLength: lengthMax },
    read(value) {
      if (typeof value !== 'string') return new Fault(both('must be a string', 'doit être un texte'), 'invalid_type');
      if (value.length > lengthMax) return tooLong(lengthMax);
      if (blank !== undefined && isBlank(value)) return new Fault(blank);
      return isStorable(value) ? value : new Fault(UNSTORABLE, 'invalid_text');
    },
  };
}

export const ENDPOINT_URL = text(2_048);

/** PostgreSQL can store neither. */
export const UNSTORABLE = both(
  'must not contain U+0000 or half a surrogate pair',
  'ne doit contenir ni U+0000 ni demi-paire de substitution',
);

export function tooLong(lengthMax: number): Fault {
  const message = both(`must have at most ${lengthMax} characters`, `a au plus ${count(lengthMax)} caractères`);
  return new Fault(message, 'too_long');
}

/** `message` is the fault of any other text, and of a value that is not a string. */
export function textLike(pattern: RegExp, message: Sentence): ValueRule<string> {
  return {
    schema: { type: 'string', pattern: pattern.source },
    read: (value) => (typeof value === 'string' && pattern.test(value) ? value : new Fault(message, 'invalid_format')),
  };
}

export function emailAddress(lengthMax: number): ValueRule<string> {
  const message = both('must be an e-mail address', 'doit être une adresse e-mail');
  return {
    schema: { type: 'string', format: 'email', maxLength: lengthMax },
    read(value) {
      if (typeof value !== 'string') return new Fault(message, 'invalid_type');
      if (value.length > lengthMax) return tooLong(lengthMax);
      return z.regexes.email.test(value) ? value : new Fault(message, 'invalid_format');
    },
  };
}

export const RECIPIENT_ADDRESS = emailAddress(320);

export function oneOf<const Choice extends string>(choices: readonly Choice[]): ValueRule<Choice> {
  const list = choices.join(', ');
  const message = both(`must be one of ${list}`, `doit être l’un de : ${list}`);
  return {
    schema: { type: 'string', enum: choices },
    read: (value) => choices.find((choice) => choice === value) ?? new Fault(message),
  };
}

/** Returns a single choice unchanged, not as an array. */
export function oneOrSeveralOf<Choice extends string | number>(
  choices: readonly Choice[],
): ValueRule<Choice | readonly Choice[]> {
  const isChoice = (value: unknown): value is Choice => choices.includes(value as Choice);
  const list = choices.join(', ');
  const message = both(`must be one of ${list} or an array of them`, `doit être l’un de ${list}, ou une liste`);
  const type = typeof choices[0] === 'number' ? 'integer' : 'string';
  return {
    schema: { type: 'array', items: { type, enum: choices }, maxItems: choices.length },
    read(value) {
      const isSeveral = Array.isArray(value) && value.length <= choices.length && value.every(isChoice);
      return isChoice(value) || isSeveral ? value : new Fault(message);
    },
  };
}

/** Reads the position of one of `meanings`, as a number or as text. */
export function codeOf(meanings: readonly string[]): ValueRule<number> {
  const known = meanings.map((_, position) => position);
  const named = meanings.map((name, position) => `${position} (${name})`);
  const message = both(`must be ${named.join(' or ')}`, `doit être ${named.join(' ou ')}`);
  return {
    schema: { type: 'string', enum: known.map(String) },
    read: (value) => known.find((one) => one === value || String(one) === value) ?? new Fault(message),
  };
}

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+\- ]\d{2}:?\d{2}))?$/i;

/** A date means midnight UTC. An unencoded plus sign arrives as a space. */
export const INSTANT: ValueRule<Date> = {
  // Without `format`, because the date types of generated clients (Rust, Ruby, PHP) cannot write a date without a time.
  schema: { type: 'string' },
  read(value) {
    const written = typeof value === 'string' && TIME.test(value) ? value : null;
    const at = new Date(written?.replace(' ', '+') ?? Number.NaN);
    const year = at.getUTCFullYear();
    // PostgreSQL has no year 0. JavaScript reads the 30th of February as a day in March.
    if (year >= 1 && year <= 9_999 && z.regexes.date.test(written?.slice(0, 10) ?? '')) return at;
    const message = both(
      'must be a date or a date and time with an offset, ISO 8601',
      'doit être une date, ou une date et une heure avec décalage, ISO 8601',
    );
    return new Fault(message, typeof value === 'string' ? 'invalid_time' : 'invalid_type');
  },
};

const WRITTEN_TIME = z.regexes.datetime({ offset: true, precision: null });

/** A past date and time with an offset. Returned as it was written. */
export const PAST_TIME: ValueRule<string> = {
  schema: { type: 'string', format: 'date-time' },
  read(value) {
    const message = both(
      'must be a date and time with an offset, ISO 8601',
      'doit être une date et une heure avec décalage, ISO 8601',
    );
    if (typeof value !== 'string') return new Fault(message, 'invalid_type');
    if (!WRITTEN_TIME.test(value)) return new Fault(message, 'invalid_format');
    return Date.parse(value) > Date.now() ? new Fault(FUTURE, 'above_maximum') : value;
  },
};

export const FUTURE = both('must not be in the future', 'ne doit pas être dans le futur');

/** A decimal number, with or without a sign and an exponent. An unencoded plus sign arrives as a space. */
export const NUMBER = /^[-+ ]?\d+(\.\d+)?(e[-+]?\d{1,3})?$/i;
const DECIMAL_LENGTH_MAX = 32;

/** A number or a decimal string, returned as text so that no digit is lost. `range` continues "must be a number …". */
export function decimal(isAllowed: (value: number) => boolean, range: Sentence): ValueRule<string> {
  const message = both(`must be a number or a decimal string, ${range.en}`, `doit être un nombre, ${range.fr}`);
  return {
    schema: { type: 'string', maxLength: DECIMAL_LENGTH_MAX },
    read(value) {
      const isText = typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && NUMBER.test(value);
      if (!isText && !Number.isFinite(value)) return new Fault(message);
      const sent = value as string | number;
      const kept = decimalOf(sent);
      // `1e-30` is stored as 0, so both values are checked.
      return [sent, kept].map(Number).every(isAllowed) ? kept : new Fault(message);
    },
  };
}

/** Maximum number of digits after the decimal point. */
const FRACTION_MAX = 20;
const PLAIN_DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * Removes a plus sign and an exponent: `4.31e1` becomes `43.1`. A number without an exponent keeps every digit. The
 * value must be a number or match `NUMBER`.
 */
export function decimalOf(value: number | string): string {
  const written = String(value).replace(/^[+ ]/, '');
  if (PLAIN_DECIMAL.test(written)) return written;
  // `1e-30` becomes 0. A negative zero keeps its sign.
  const rounded = new Big(written).abs().round(FRACTION_MAX, Big.roundDown).toFixed();
  return written.startsWith('-') ? `-${rounded}` : rounded;
}

/** Accepts the UUID alone, or as the last segment of an IRI such as `/searches/{uuid}`. */
export function uuidIn(collection: string): ValueRule<Uuid> {
  const pattern = new RegExp(`^(?:/?${collection}/)?([^/]+)$`);
  const message = both(`must be an IRI of /${collection}`, `doit être une IRI de /${collection}`);
  return {
    schema: { type: 'string', format: 'iri-reference' },
    read(value, baseUrl = '') {
      const path = typeof value === 'string' ? ownPath(value, baseUrl) : null;
      const code = typeof value === 'string' ? 'invalid_iri' : 'invalid_type';
      return parseUuid(pattern.exec(path ?? '')?.[1] ?? '') ?? new Fault(message, code);
    },
  };
}

const IRI_LENGTH_MAX = 2_048;

/**
 * Accepts the id at the end of `/cities/30953`, of `cities/30953`, of the same IRI with our own host, or of an object
 * with such an `@id`. The schema describes only the IRI, so that each member has one form.
 */
export function idIn(collection: string): ValueRule<number> {
  // Departments are also identified by their codes, such as `2A`.
  const idPattern = collection === 'departments' ? '\\d{1,9}|2[AaBb]' : '\\d{1,9}';
  const pattern = new RegExp(`^/?${collection}/(${idPattern})$`);
  const message = both(
    `must be an IRI such as /${collection}/1, or an object with it as @id`,
    `doit être une IRI telle que /${collection}/1, ou un objet qui l’a pour @id`,
  );
  return {
    schema: { type: 'string', pattern: `(^|/)${collection}/(${idPattern})$`, maxLength: IRI_LENGTH_MAX },
    read(value, baseUrl = '') {
      const sent = typeof value === 'object' && value !== null && '@id' in value ? value['@id'] : value;
      if (typeof sent !== 'string' || sent.length > IRI_LENGTH_MAX) return new Fault(message, 'invalid_format');
      const path = ownPath(sent, baseUrl);
      if (path === null) return new Fault(ELSEWHERE, 'invalid_format');
      const id = pattern.exec(path)?.[1];
      return id === undefined ? new Fault(message, 'invalid_format') : departmentIdOf(id.toUpperCase());
    },
  };
}

const ELSEWHERE = both('is an IRI of another service', 'est une IRI d’un autre service');
const PROTOCOL = /^https?:\/\//i;

/**
 * The path of `iri`; null if the IRI belongs to another service. `baseUrl` is the public URL of this service. The
 * protocol is not compared, because a proxy may have changed it.
 */
function ownPath(iri: string, baseUrl: string): string | null {
  if (!PROTOCOL.test(iri)) return iri;
  const [address, base] = [iri.replace(PROTOCOL, ''), baseUrl.replace(PROTOCOL, '')];
  const isOurs = base !== '' && address.slice(0, base.length + 1).toLowerCase() === `${base.toLowerCase()}/`;
  return isOurs ? address.slice(base.length) : null;
}
