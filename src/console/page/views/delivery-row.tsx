/** One delivery: its state, where it went, when it goes next, and each attempt with what was answered. */

import { useState } from 'preact/hooks';
import { useDeed } from '../answer.ts';
import { type AttemptDocument, type DeliveryDocument, idOf } from '../documents.ts';
import { Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useNow } from '../now.ts';
import { useValue } from '../observable.ts';
import { hrefOf } from '../route.ts';
import { useFormats } from '../words/formats.ts';
import { useWords, type Words } from '../words/language.ts';

export function DeliveryState({ status }: { readonly status: string }) {
  const words = useWords();
  return (
    <span class="tag" data-state={status}>
      {words.states[status as keyof Words['states']] ?? status}
    </span>
  );
}

/** An e-mail's address is told as one, not as a link to it. */
export function addresseeOf(endpoint: string): string {
  return endpoint.replace(/^mailto:/, '');
}

export interface DeliveryRowProps {
  readonly delivery: DeliveryDocument;
  onChange(): void;
}

export function DeliveryRow({ delivery, onChange }: DeliveryRowProps) {
  const words = useWords();
  const formats = useFormats();
  const model = useModel();
  const [isOpen, setOpen] = useState(false);
  const deed = useDeed();
  const { byIri } = useValue(model.searches);
  const { '@id': iri, endpoint, event, status, dueAt, createdAt, attempts, channel } = delivery;
  const title = byIri.get(delivery.search)?.title ?? delivery.search;
  const resend = (): void =>
    deed.run(async () => {
      await model.rest.ask('POST', `${iri}/resend`);
      onChange();
    });
  return (
    <li class="delivery" data-status={status}>
      <div class="delivery-head">
        <DeliveryState status={status} />
        <button type="button" class="row-title quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {addresseeOf(endpoint)}
        </button>
        <span class="row-aside">{formats.moment(createdAt)}</span>
      </div>
      <p class="row-more">
        {`${words.events[event] ?? event} · ${title} · ${words.attempts(delivery.attemptCount)}`}
        {dueAt !== null && <Countdown dueAt={dueAt} isFirst={delivery.attemptCount === 0} />}
        <a href={hrefOf('map', idOf(delivery.match))}>{words.openProperty}</a>
        {channel !== 'email' && (
          <button type="button" disabled={deed.isUnderWay || status === 'sending'} onClick={resend}>
            {words.resend}
          </button>
        )}
      </p>
      <Problem text={deed.problem} />
      {isOpen && <Attempts attempts={attempts} />}
    </li>
  );
}

/** Its own clock: the list around it stays as it is. */
function Countdown({ dueAt, isFirst }: { readonly dueAt: string; readonly isFirst: boolean }) {
  const words = useWords();
  const formats = useFormats();
  const leftMs = Date.parse(dueAt) - useNow();
  const told = isFirst ? words.firstAttempt : words.nextAttempt;
  return <span class="countdown">{leftMs <= 0 ? words.dueNow : told(formats.clock(leftMs))}</span>;
}

function errorIn(words: Words, error: string | null): string {
  return error === null ? words.underWay : (words.attemptErrors[error as keyof Words['attemptErrors']] ?? error);
}

function Attempts({ attempts }: { readonly attempts: readonly AttemptDocument[] }) {
  const words = useWords();
  const formats = useFormats();
  if (attempts.length === 0) return <p class="hint">{words.noAttempt}</p>;
  return (
    <ol class="attempts">
      {attempts.map(({ startedAt, durationMs, statusCode, error, responseHead }) => (
        <li key={startedAt}>
          <span>{formats.moment(startedAt)}</span>
          <strong>{statusCode === null ? errorIn(words, error) : `HTTP ${statusCode}`}</strong>
          {statusCode !== null && error !== null && error !== 'status' && <span>{errorIn(words, error)}</span>}
          {durationMs !== null && <span>{`${Math.round(durationMs)} ms`}</span>}
          {responseHead !== null && responseHead !== '' && <pre tabIndex={0}>{responseHead}</pre>}
        </li>
      ))}
    </ol>
  );
}
