/** One delivery: its state, endpoint, next attempt, and each attempt with its answer. */

import { useState } from 'preact/hooks';
import { useMutation, useRead } from '../answer.ts';
import { type AttemptDocument, type DeliveryDocument, idOf } from '../documents.ts';
import { Loading, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useNow } from '../now.ts';
import { useValue } from '../observable.ts';
import { hrefOf } from '../route.ts';
import { useWords, type Words } from '../words/language.ts';

export function DeliveryState({ status }: { readonly status: string }) {
  const words = useWords();
  return (
    <span class="tag" data-state={status}>
      {words.states[status as keyof Words['states']] ?? status}
    </span>
  );
}

/** An e-mail address is shown without its scheme. */
export function addresseeOf(endpoint: string): string {
  return endpoint.replace(/^mailto:/, '');
}

export interface DeliveryRowProps {
  readonly delivery: DeliveryDocument;
  onChange(): void;
}

export function DeliveryRow({ delivery, onChange }: DeliveryRowProps) {
  const words = useWords();
  const model = useModel();
  const [isOpen, setOpen] = useState(false);
  const { byIri } = useValue(model.searches);
  useValue(model.pinsVersion);
  const { '@id': iri, endpoint, event, status, dueAt, createdAt, attempts, channel } = delivery;
  const pin = model.pins.get(delivery.match);
  const last = attempts.at(-1);
  const parts = [
    words.events[event] ?? event,
    byIri.get(delivery.search)?.title ?? delivery.search,
    ...(last === undefined ? [] : [answerOf(delivery, last, words)]),
  ];
  return (
    <li class="delivery" data-status={status}>
      <div class="delivery-head">
        <DeliveryState status={status} />
        <button type="button" class="row-title quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {pin?.title ?? words.untitled}
        </button>
        <strong>{words.euros(pin?.price ?? null)}</strong>
        <span class="row-aside">{words.moment(createdAt)}</span>
      </div>
      <p class="row-more">
        {parts.join(' · ')}
        {dueAt !== null && <Countdown dueAt={dueAt} isFirst={delivery.attemptCount === 0} />}
        <a href={hrefOf('map', idOf(delivery.match))}>{words.openProperty}</a>
        {channel !== 'email' && <Resending delivery={delivery} onChange={onChange} />}
      </p>
      <p class="row-more">{addresseeOf(endpoint)}</p>
      {isOpen && (
        <>
          <Attempts delivery={delivery} />
          {channel !== 'email' && <Sent iri={iri} attemptCount={delivery.attemptCount} />}
        </>
      )}
    </li>
  );
}

/** `HTTP 200`, or `SMTP 250` for a mail server; without an answer, the reason or "in progress". */
function statusOf({ channel }: DeliveryDocument, { statusCode, error }: AttemptDocument, words: Words): string {
  if (statusCode === null) return error === null ? words.underWay : errorIn(words, error);
  return `${channel === 'email' ? 'SMTP' : 'HTTP'} ${statusCode}`;
}

/** `HTTP 200, 35 ms` */
function answerOf(delivery: DeliveryDocument, attempt: AttemptDocument, words: Words): string {
  const answer = statusOf(delivery, attempt, words);
  return attempt.durationMs === null ? answer : `${answer}, ${Math.round(attempt.durationMs)} ms`;
}

/** Reports the outcome as soon as it is known. */
function Resending({ delivery, onChange }: DeliveryRowProps) {
  const words = useWords();
  const { rest } = useModel();
  const mutation = useMutation();
  const [attemptsBefore, setAttemptsBefore] = useState<number | null>(null);
  const resend = (): void =>
    mutation.run(async () => {
      await rest.ask('POST', `${delivery['@id']}/resend`);
      setAttemptsBefore(delivery.attemptCount);
      onChange();
    });
  const last = delivery.attempts.at(-1);
  const isAnswered = (last?.durationMs ?? null) !== null;
  const hasAnswer = attemptsBefore !== null && delivery.attemptCount > attemptsBefore && isAnswered;
  return (
    <>
      <button type="button" disabled={mutation.isUnderWay || delivery.status === 'sending'} onClick={resend}>
        {words.resend}
      </button>
      <span class="resent" role="status">
        {attemptsBefore === null
          ? ''
          : hasAnswer && last !== undefined
            ? words.resent(answerOf(delivery, last, words), last.error === null)
            : words.resending}
      </span>
      <Problem text={mutation.problem} />
    </>
  );
}

/** The payload, and its headers. */
function Sent({ iri, attemptCount }: { readonly iri: string; readonly attemptCount: number }) {
  const words = useWords();
  const read = useRead<DeliveryDocument>(iri, {}, [attemptCount]);
  const { headers = null, body = null, withheld = false } = read.value ?? {};
  const lines = Object.entries<string>(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return (
    <section class="payload">
      <h3>{words.whatWasSent}</h3>
      <Loading isShown={read.value === null && read.isLoading} />
      <Problem text={read.problem} again={read.again} />
      {withheld && <p class="hint">{words.contactsWithheld}</p>}
      {body !== null && <pre tabIndex={0}>{[...lines, '', JSON.stringify(body, null, 2)].join('\n').trim()}</pre>}
    </section>
  );
}

/** Has its own clock, so that the list around it is not rendered again. */
function Countdown({ dueAt, isFirst }: { readonly dueAt: string; readonly isFirst: boolean }) {
  const words = useWords();
  const leftMs = Date.parse(dueAt) - useNow();
  const countdown = isFirst ? words.firstAttempt : words.nextAttempt;
  return <span class="countdown">{leftMs <= 0 ? words.dueNow : countdown(words.clock(leftMs))}</span>;
}

export function errorIn({ attemptErrors }: Words, error: string): string {
  return attemptErrors[error as keyof typeof attemptErrors] ?? error;
}

function Attempts({ delivery }: Pick<DeliveryRowProps, 'delivery'>) {
  const words = useWords();
  const { attempts } = delivery;
  if (attempts.length === 0) return <p class="hint">{words.noAttempt}</p>;
  return (
    <ol class="attempts">
      {attempts.map((attempt) => {
        const { startedAt, durationMs, statusCode, error, responseHead } = attempt;
        return (
          <li key={startedAt}>
            <span>{words.moment(startedAt)}</span>
            <strong>{statusOf(delivery, attempt, words)}</strong>
            {statusCode !== null && error !== null && error !== 'status' && <span>{errorIn(words, error)}</span>}
            {durationMs !== null && <span>{`${Math.round(durationMs)} ms`}</span>}
            {responseHead !== null && responseHead !== '' && <pre tabIndex={0}>{responseHead}</pre>}
          </li>
        );
      })}
    </ol>
  );
}
