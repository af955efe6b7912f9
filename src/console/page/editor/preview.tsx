/** Shows what the edited search would find: how many properties now and per day, and which criteria exclude most. */

import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { useAnswer } from '../answer.ts';
import type { PreviewDocument } from '../documents.ts';
import { Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { pause } from '../now.ts';
import { observable, useValue } from '../observable.ts';
import { type Query, Refusal, type Rest, type Violation } from '../rest.ts';
import { language, useWords, type Words } from '../words/language.ts';
import type { Body } from './draft.ts';
import { floodOf } from './flood.ts';
import { pathName } from './member-text.ts';

const TYPING_MS = 350;
const AGAIN_MS = 1_000;
const VIOLATIONS_SHOWN = 3;

interface Previewed {
  readonly preview: PreviewDocument | null;
  readonly violations: readonly Violation[];
}

export interface PreviewState extends Previewed {
  readonly isAsking: boolean;
  readonly problem: string | null;
}

const NOTHING: Previewed = { preview: null, violations: [] };

/**
 * Requests a preview when typing has stopped; violations are shown at their fields. The preview is null before the
 * first answer and after a failed request. `places`: the number of coordinates to request.
 */
export function usePreview(criteria: Body | null, places = 0): PreviewState {
  const { rest } = useModel();
  const tag = useValue(language);
  const last = useRef(NOTHING);
  const { value, problem, isLoading } = useAnswer(
    async (signal) => {
      if (criteria === null) return last.current;
      await pause(TYPING_MS, signal);
      try {
        return { ...NOTHING, preview: await readPreview(rest, criteria, { sample: 0, places }, signal) };
      } catch (error) {
        if (!(error instanceof Refusal) || error.violations.length === 0) throw error;
        return { ...NOTHING, violations: error.violations };
      }
    },
    [JSON.stringify(criteria), tag],
  );
  last.current = (problem === null ? value : null) ?? NOTHING;
  return { ...last.current, problem, isAsking: isLoading };
}

/** A client may run two previews at once; a 429 is retried after its delay. */
async function readPreview(rest: Rest, body: Body, query: Query, signal: AbortSignal): Promise<PreviewDocument> {
  for (;;) {
    try {
      return (await rest.ask<PreviewDocument>('POST', '/searches/preview', { body, query, signal })).body;
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 429 || signal.aborted) throw error;
      await pause(error.retryAfterMs ?? AGAIN_MS, signal);
    }
  }
}

export function Preview({ state }: { readonly state: PreviewState }) {
  const words = useWords();
  const { preview, isAsking, problem, violations } = state;
  const knownSince = preview?.knownSince ?? null;
  const flood = preview === null ? null : floodOf(preview.perDay);
  const about = preview?.estimated === true ? `${words.about} ` : '';
  return (
    <section class="preview card" aria-label={words.preview} aria-busy={isAsking} data-settled={!isAsking}>
      <Problem text={problem} />
      {violations.length > 0 && (
        <>
          <p class="hint">{words.previewWaits}</p>
          {violations.slice(0, VIOLATIONS_SHOWN).map(({ propertyPath, message }) => (
            <p key={propertyPath} class="hint">
              {words.ofMember(pathName(propertyPath, words), message)}
            </p>
          ))}
        </>
      )}
      {isAsking && preview === null && <p class="hint">{words.loading}</p>}
      <Problem text={flood === null ? null : words.flood(words.number(flood))} />
      {preview !== null && (
        <Folded
          line={
            <span class="figures" role="status">
              <span>
                <strong>{`${about}${words.number(preview.satisfiedNow)}`}</strong>{' '}
                {preview.margin > 0 && `(± ${words.number(preview.margin)}) `}
                {words.satisfyNow(preview.satisfiedNow)}
              </span>
              {preview.perDay !== null && (
                <span>
                  <strong>{`${about}${dailyOf(preview.perDay, words)}`}</strong> {words.perDay}
                </span>
              )}
            </span>
          }
        >
          {knownSince !== null && (
            <p class="hint">{words.knownSince(words.day(knownSince), preview.perDay !== null)}</p>
          )}
          <Costs preview={preview} />
        </Folded>
      )}
    </section>
  );
}

/** Screens on which the form would have less than half of the height: phones, large fonts, small windows. */
const LOW = matchMedia('(max-width: 1024px), (max-height: 600px)');
const isScreenLow = observable(LOW.matches);
LOW.addEventListener('change', () => isScreenLow.set(LOW.matches));

/** The figures in one line. On a low screen the reader can open the rest below. */
function Folded({ line, children }: { readonly line: JSX.Element; readonly children: ComponentChildren }) {
  if (!useValue(isScreenLow)) {
    return (
      <>
        {line}
        {children}
      </>
    );
  }
  return (
    <details class="folded">
      <summary>{line}</summary>
      {children}
    </details>
  );
}

const DAILY_SHOWN_MIN = 0.1;

/** A small number is not rounded to zero. */
function dailyOf(daily: number, words: Words): string {
  if (daily > 0 && daily < DAILY_SHOWN_MIN) return words.lessThan(words.number(DAILY_SHOWN_MIN));
  return words.number(Number(daily.toFixed(1)));
}

const COSTS_SHOWN = 5;

function Costs({ preview }: { readonly preview: PreviewDocument }) {
  const words = useWords();
  const costs = preview.withoutCriterion
    .map(({ criterion, satisfiedNow, estimated }) => ({
      criterion,
      estimated,
      gain: satisfiedNow - preview.satisfiedNow,
    }))
    .filter(({ gain }) => gain > 0)
    .sort((a, b) => b.gain - a.gain)
    .slice(0, COSTS_SHOWN);
  if (costs.length === 0) return null;
  return (
    <>
      <h2>{words.whatCosts}</h2>
      <ul class="costs">
        {costs.map(({ criterion, gain, estimated }) => (
          <li key={criterion}>
            <span>{words.without(words.criteria[criterion])}</span>
            <strong>{`+${estimated ? `${words.about} ` : ''}${words.number(gain)}`}</strong>
            <span class="bar" aria-hidden="true" style={{ width: `${(100 * gain) / (costs[0]?.gain ?? gain)}%` }} />
          </li>
        ))}
      </ul>
    </>
  );
}
