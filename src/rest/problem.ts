/**
 * Errors as clients see them (decisions, section 7): one body for all, `application/problem+json` (RFC 9457), which is
 * also a Hydra error. Handlers throw `Problem`; only `reportProblems` turns errors into answers. An internal error is
 * logged completely and answered without details.
 */

import { STATUS_CODES } from 'node:http';
import type { Context, Middleware, Next } from 'koa';
import { nearestName } from '../engine/domain/nearest-name.ts';
import { cut } from '../engine/domain/text.ts';
import { isDatabaseFull, isDatabaseOutage } from '../engine/store/outage.ts';
import { typeset } from '../values.ts';
import type { ApiLogger } from './dependencies.ts';
import {
  FAULTS,
  joinSentences,
  type Language,
  languageOf,
  ofMember,
  REFUSALS,
  type Sentence,
  type Thing,
  verbatim,
} from './sentences.ts';

export interface Violation {
  /** `budgetMin`, `includedCities[2]`; empty for the body as a whole. Cut at 64 characters. */
  readonly propertyPath: string;
  readonly message: Sentence;
  /** Stable, for programs. */
  readonly code: ViolationCode;
}

export interface ProblemExtra {
  readonly headers?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  /** The kind of error, for `type`, when the status alone is not enough. */
  readonly type?: ProblemType;
  /** Further members of the body. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** A refusal of a request, with everything that its answer needs. */
export class Problem extends Error {
  readonly code = 'PROBLEM';
  readonly status: number;
  /** The error's message is the English sentence. */
  readonly detail: Sentence;
  readonly violations: readonly Violation[];
  readonly extra: ProblemExtra;

  constructor(status: number, detail: Sentence, extra: ProblemExtra = {}) {
    super(detail.en);
    this.status = status;
    this.detail = detail;
    this.violations = extra.violations ?? [];
    this.extra = extra;
  }
}

/** Throws a 404 `Problem`. */
export function notFound(what: Thing): never {
  throw new Problem(404, REFUSALS.notFound(what));
}

export function problemBody(
  { status, detail: sentence, violations, extra: { type, members } }: Problem,
  requestId: string,
  language: Language,
): Record<string, unknown> {
  const inWords = ({ en, fr }: Sentence) => (language === 'fr' ? typeset(fr) : en);
  const detail = inWords(sentence);
  const title = STATUS_CODES[status] ?? 'Error';
  const isViolationList = violations.length > 0;
  return {
    '@context': isViolationList ? '/contexts/ConstraintViolationList' : '/contexts/Error',
    '@id': `/errors/${requestId}`,
    '@type': isViolationList ? ['ConstraintViolationList', 'hydra:Error'] : 'hydra:Error',
    'hydra:title': title,
    'hydra:description': detail,
    title,
    detail,
    status,
    // RFC 9457: `about:blank` means that the status explains the problem.
    type: type ?? (isViolationList ? '/docs.jsonld#ConstraintViolationList' : 'about:blank'),
    ...(isViolationList && { violations: violations.map((one) => ({ ...one, message: inWords(one.message) })) }),
    ...members,
  };
}

/** The error handler: answers every error that a later layer throws. Errors of the service are logged. */
export function reportProblems(logger: Pick<ApiLogger, 'error'>): Middleware {
  return async (ctx: Context, next: Next) => {
    try {
      await next();
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status >= 500) logger.error({ err: error, requestId: ctx.state.requestId }, 'A request failed.');
      ctx.status = problem.status;
      ctx.set(problem.extra.headers ?? {});
      ctx.remove('ETag');
      ctx.type = 'application/problem+json';
      ctx.body = JSON.stringify(problemBody(problem, String(ctx.state.requestId), languageOf(ctx, 'en')));
    }
  };
}

const FULL_RETRY_SECONDS = '60';

export function storeFull(): Problem {
  return new Problem(503, REFUSALS.storeFull, { headers: { 'Retry-After': FULL_RETRY_SECONDS } });
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { status, message, expose } = (error instanceof Error ? error : {}) as Partial<HttpError>;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new Problem(status, verbatim(expose === false ? (STATUS_CODES[status] ?? 'bad request') : (message ?? '')));
  }
  if (isDatabaseFull(error)) return storeFull();
  if (isDatabaseOutage(error)) {
    return new Problem(503, REFUSALS.storeAway, { headers: { 'Retry-After': '5' } });
  }
  return new Problem(500, REFUSALS.bug);
}

/** An error of Koa, or of a library that follows its form. */
interface HttpError extends Error {
  readonly status: unknown;
  readonly expose: unknown;
}

/**
 * Programs distinguish refusals by the `code` of a violation and the `type` of a problem; the guide at `/docs` shows
 * the sentence of each. A code that is not listed here does not compile.
 */
export const VIOLATION_CODES = {
  required: { en: 'The member is required.', fr: 'Ce champ est obligatoire.' },
  unknown_member: {
    en: 'The member does not exist. The message names the nearest one, if any.',
    fr: 'Ce champ n’existe pas ; le message nomme le plus proche, s’il y en a un.',
  },
  invalid_type: {
    en: 'The value does not have the expected type.',
    fr: 'La valeur n’est pas du type attendu.',
  },
  invalid_value: { en: 'The value is not one of the allowed values.', fr: 'La valeur n’est pas admise.' },
  invalid_format: { en: 'The text does not have the expected format.', fr: 'Le texte n’a pas le format attendu.' },
  invalid_text: { en: 'The text has invalid characters.', fr: 'Le texte contient des caractères invalides.' },
  invalid_iri: { en: 'Not an IRI of the expected collection.', fr: 'Ce n’est pas une IRI de la collection attendue.' },
  invalid_time: { en: 'Not a date and time with an offset.', fr: 'Ce n’est pas une date et une heure avec décalage.' },
  invalid_endpoint: {
    en: 'The service does not send to URLs of this kind.',
    fr: 'Le service n’envoie rien à une adresse de cette sorte.',
  },
  below_minimum: { en: 'The value is below the minimum.', fr: 'La valeur est au-dessous du minimum.' },
  above_maximum: { en: 'The value is above the maximum.', fr: 'La valeur est au-dessus du maximum.' },
  too_short: { en: 'The text or list is too short.', fr: 'Le texte ou la liste est trop court.' },
  too_long: { en: 'The text, list or JSON is too long.', fr: 'Le texte, la liste ou le JSON est trop long.' },
  too_old: { en: 'The time is before the oldest kept data.', fr: 'La date précède les données conservées.' },
  too_many_parts: { en: 'The body has too many objects and members.', fr: 'Le corps a trop d’objets et de champs.' },
  min_above_max: { en: 'A lower limit is above its upper limit.', fr: 'Une borne basse dépasse sa borne haute.' },
  in_both_lists: { en: 'The value is both included and excluded.', fr: 'La valeur est à la fois demandée et exclue.' },
  criterion_not_set: {
    en: '`orMissing` names a criterion that the search or alternative does not set.',
    fr: '`orMissing` nomme un critère que la recherche ou l’alternative ne fixe pas.',
  },
  not_in_alternative: {
    en: 'The criterion or member is allowed on the search only.',
    fr: 'Ce critère ou champ ne se fixe que sur la recherche.',
  },
  set_on_search: {
    en: 'An alternative sets a criterion that the search sets too.',
    fr: 'Une alternative fixe un critère que la recherche fixe aussi.',
  },
  incomplete_circle: {
    en: '`lat`, `lon` and `radius` must be set together.',
    fr: '`lat`, `lon` et `radius` doivent être fixés ensemble.',
  },
  unknown_reference: { en: 'The named object does not exist.', fr: 'L’objet indiqué n’existe pas.' },
  unknown_endpoint: { en: 'No delivery of yours has this URL.', fr: 'Aucun de vos envois n’a cette adresse.' },
  idempotency_key_reused: {
    en: 'This `Idempotency-Key` was sent with another body.',
    fr: 'Cette `Idempotency-Key` a été envoyée avec un autre corps.',
  },
} as const satisfies Readonly<Record<string, Sentence>>;

export type ViolationCode = keyof typeof VIOLATION_CODES;

export const PROBLEM_TYPES = {
  'about:blank': { en: 'The HTTP status explains the problem.', fr: 'Le code HTTP explique le problème.' },
  '/docs.jsonld#ConstraintViolationList': {
    en: 'The request is invalid. `violations` lists the faults, each with `propertyPath`, `message` and `code`.',
    fr: 'La requête est refusée ; `violations` liste les erreurs, chacune avec `propertyPath`, `message` et `code`.',
  },
  '/docs.jsonld#LimitReached': {
    en: 'You have reached a limit: `limit` names it, `maximum` and `used` give its numbers.',
    fr: 'Vous avez atteint une limite : `limit` la nomme, `maximum` et `used` en donnent les nombres.',
  },
} as const satisfies Readonly<Record<string, Sentence>>;

type ProblemType = keyof typeof PROBLEM_TYPES;

export const VIOLATIONS_MAX = 50;
/** Limits the search for similar names, which takes as long as the rest of a member's validation. */
const NEAREST_NAMES_MAX = 10;
const PATH_LENGTH_MAX = 64;

export type Path = readonly PropertyKey[];

/** The errors of a body. To limit the cost, the answer has only the first `VIOLATIONS_MAX`, and their total number. */
export class Violations {
  readonly #first: Violation[] = [];
  #count = 0;
  #nearestNames = 0;

  add(path: Path, message: Sentence, code: ViolationCode): void {
    this.#count += 1;
    if (this.#first.length < VIOLATIONS_MAX) this.#first.push({ propertyPath: textOf(path), message, code });
  }

  /** True if the answer has an error of the member itself. */
  isReported(member: string): boolean {
    return this.#first.some(({ propertyPath }) => propertyPath === member);
  }

  /** Counts errors without reporting them, because enough are reported already. */
  addMore(count: number): void {
    this.#count += count;
  }

  /** `what`: the kind of member in the message. The last step of the path is the unknown name. */
  addUnknown(path: Path, what: Sentence, known: readonly string[]): void {
    if (this.#first.length === VIOLATIONS_MAX) return this.addMore(1);
    const isCompared = this.#nearestNames < NEAREST_NAMES_MAX;
    this.#nearestNames += 1;
    const nearest = isCompared ? nearestName(String(path.at(-1)), known) : null;
    this.add(path, nearest === null ? FAULTS.unknown(what) : FAULTS.unknownNear(what, nearest), 'unknown_member');
  }

  /** Throws a 422 `Problem` if there was an error. */
  throwAny(): void {
    if (this.#count === 0) return;
    const detail = this.#first.map(({ propertyPath, message }) => ofMember(propertyPath, message));
    const more = this.#count - this.#first.length;
    if (more > 0) detail.push(REFUSALS.andMore(more));
    const members = { violationCount: this.#count };
    throw new Problem(422, joinSentences(detail, '\n'), { violations: this.#first, members });
  }
}

/** A 422 `Problem` with one error; `detail`: the sentence for it, if it is not the message with its path. */
export function invalid(path: Path, message: Sentence, code: ViolationCode, detail?: Sentence): Problem {
  const propertyPath = textOf(path);
  const extra = { violations: [{ propertyPath, message, code }], members: { violationCount: 1 } };
  return new Problem(422, detail ?? ofMember(propertyPath, message), extra);
}

/** `includedCities[2]`, `expressions[0][0].options.include`; a long path is cut, with an ellipsis. */
function textOf(path: Path): string {
  let text = '';
  for (const step of path) {
    text += typeof step === 'number' ? `[${step}]` : `${text === '' ? '' : '.'}${String(step)}`;
    if (text.length > PATH_LENGTH_MAX) break;
  }
  return cut(text, PATH_LENGTH_MAX);
}
