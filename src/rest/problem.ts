/**
 * Errors as clients see them (decisions, section 7): one body for all, `application/problem+json` (RFC 9457) that is
 * a Hydra error as well. Handlers throw `Problem`; `reportProblems` is the one place that turns anything thrown into
 * an answer. What is no client's fault is logged whole and answered without a word of its inside.
 */

import { STATUS_CODES } from 'node:http';
import type { Context, Middleware, Next } from 'koa';
import { movedCellIn } from '../engine/store/clients.ts';
import { isDatabaseOutage } from '../engine/store/outage.ts';
import type { ApiLogger } from './dependencies.ts';
import type { ProblemType, ViolationCode } from './error-codes.ts';
import { languageOf } from './language.ts';
import { type Language, REFUSALS, type Sentence, type Thing, verbatim } from './sentences.ts';

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
  /** Where the kind of problem is described, when the status does not say it all. */
  readonly type?: ProblemType;
  readonly members?: Readonly<Record<string, unknown>>;
}

/** An expected outcome of a request, with everything its answer needs. */
export class Problem extends Error {
  readonly code = 'PROBLEM';
  readonly status: number;
  /** Its English is the error's message. */
  readonly detail: Sentence;
  readonly headers: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  readonly type: ProblemType | null;
  /** Further members of the body. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(status: number, detail: Sentence, extra: ProblemExtra = {}) {
    super(detail.en);
    this.status = status;
    this.detail = detail;
    this.headers = extra.headers ?? {};
    this.violations = extra.violations ?? [];
    this.type = extra.type ?? null;
    this.members = extra.members ?? {};
  }
}

export function notFound(what: Thing): Problem {
  return new Problem(404, REFUSALS.notFound(what));
}

/** RFC 9110, section 15.5.20: proxies send it on to the cell that the header names. */
export function movedTo(cell: string): Problem {
  return new Problem(421, REFUSALS.otherCell, { headers: { 'Vigie-Cell': cell } });
}

/** For the seconds in which a client is moved between cells. */
export function moving(): Problem {
  return new Problem(503, REFUSALS.moving, { headers: { 'Retry-After': '2' } });
}

export function problemBody(problem: Problem, requestId: string, language: Language): Record<string, unknown> {
  const detail = problem.detail[language];
  const title = STATUS_CODES[problem.status] ?? 'Error';
  const isViolationList = problem.violations.length > 0;
  return {
    '@context': isViolationList ? '/contexts/ConstraintViolationList' : '/contexts/Error',
    '@id': `/errors/${requestId}`,
    '@type': isViolationList ? ['ConstraintViolationList', 'hydra:Error'] : 'hydra:Error',
    'hydra:title': title,
    'hydra:description': detail,
    title,
    detail,
    status: problem.status,
    // RFC 9457: `about:blank` says that the status is all there is to say.
    type: problem.type ?? (isViolationList ? '/docs.jsonld#ConstraintViolationList' : 'about:blank'),
    ...(isViolationList && {
      violations: problem.violations.map((one) => ({ ...one, message: one.message[language] })),
    }),
    ...problem.members,
  };
}

/** The funnel: outermost but for the access log, so that nothing thrown gets past it. */
export function reportProblems(logger: Pick<ApiLogger, 'error'>): Middleware {
  return async (ctx: Context, next: Next) => {
    try {
      await next();
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status >= 500) logger.error({ err: error, requestId: ctx.state.requestId }, 'request failed');
      ctx.status = problem.status;
      ctx.set(problem.headers);
      ctx.remove('ETag');
      ctx.type = 'application/problem+json';
      ctx.body = JSON.stringify(problemBody(problem, String(ctx.state.requestId), languageOf(ctx, 'en')));
    }
  };
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const moved = movedCellIn(error);
  if (moved !== null) return moved === '' ? moving() : movedTo(moved);
  const { status, message, expose } = readError(error);
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new Problem(status, verbatim(expose === false ? (STATUS_CODES[status] ?? 'bad request') : message));
  }
  if (isDatabaseOutage(error)) {
    return new Problem(503, REFUSALS.storeAway, { headers: { 'Retry-After': '5' } });
  }
  return new Problem(500, REFUSALS.bug);
}

function readError(error: unknown): { status: unknown; message: string; expose: unknown } {
  if (!(error instanceof Error)) return { status: null, message: '', expose: null };
  const { status, expose } = error as Error & Record<'status' | 'expose', unknown>;
  return { status, message: error.message, expose };
}
