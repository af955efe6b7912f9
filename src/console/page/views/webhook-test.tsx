/** Sends one signed test delivery to an endpoint, and shows its answer. */

import { useId, useState } from 'preact/hooks';
import { useMutation } from '../answer.ts';
import type { WebhookTestDocument } from '../documents.ts';
import { Field, Problem } from '../elements.tsx';
import { EVENT_KINDS } from '../generated/documents.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { useWords } from '../words/language.ts';

export function WebhookTest({ endpoints }: { readonly endpoints: readonly string[] }) {
  const words = useWords();
  const model = useModel();
  const known = useId();
  const mutation = useMutation();
  const [endpoint, setEndpoint] = useState('');
  const [eventType, setEventType] = useState<string>('property.ad.create');
  const [search, setSearch] = useState('');
  const [answer, setAnswer] = useState<WebhookTestDocument | null>(null);
  const test = (event: Event): void => {
    event.preventDefault();
    mutation.run(async () => {
      setAnswer(null);
      setAnswer(await model.rest.read<WebhookTestDocument>('/webhook-tester', { endpoint, eventType, search }));
    });
  };
  return (
    <section class="card" aria-labelledby="test">
      <h2 id="test">{words.test}</h2>
      <form class="line" onSubmit={test}>
        <Field label={words.endpoint}>
          {(ids) => (
            <input
              {...ids}
              type="text"
              inputMode="url"
              name="endpoint"
              list={known}
              required
              value={endpoint}
              onInput={({ currentTarget }) => setEndpoint(currentTarget.value)}
            />
          )}
        </Field>
        <datalist id={known}>
          {endpoints.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <Field label={words.kindOfEvent}>
          {(ids) => (
            <select {...ids} value={eventType} onChange={({ currentTarget }) => setEventType(currentTarget.value)}>
              {EVENT_KINDS.map((kind) => (
                <option key={kind} value={kind}>
                  {words.events[kind]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Signer search={search} onChange={setSearch} />
        <button type="submit" class="primary" disabled={mutation.isUnderWay}>
          {mutation.isUnderWay ? words.sending : words.sendTest}
        </button>
      </form>
      <Problem text={mutation.problem} />
      {answer !== null && <Outcome answer={answer} />}
    </section>
  );
}

function Signer({ search, onChange }: { readonly search: string; onChange(search: string): void }) {
  const words = useWords();
  const { list } = useValue(useModel().searches);
  return (
    <Field label={words.signedAs}>
      {(ids) => (
        <select {...ids} value={search} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          <option value="">{words.signedByTest}</option>
          {list.map(({ '@id': iri, title }) => (
            <option key={iri} value={iri}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Outcome({ answer }: { readonly answer: WebhookTestDocument }) {
  const words = useWords();
  const { delivery, event, adEvent, match } = answer;
  const { delivered, statusCode, durationMs, error, responseBody, token } = delivery;
  return (
    <div class="outcome" role="status" data-outcome={delivered}>
      <p>
        <span class="tag" data-state={delivered ? 'delivered' : 'failed'}>
          {delivered ? words.states.delivered : words.states.failed}
        </span>{' '}
        {/* Beside a status the error adds nothing. */}
        {[statusCode === null ? error : `HTTP ${statusCode}`, `${durationMs} ms`]
          .filter((part) => part !== null)
          .join(' · ')}
      </p>
      {responseBody !== null && responseBody !== '' && (
        <>
          <h3>{words.answered}</h3>
          <pre tabIndex={0}>{responseBody}</pre>
        </>
      )}
      {token !== null && <p class="hint">{words.testToken(token)}</p>}
      <details>
        <summary>{words.whatWasSent}</summary>
        <pre tabIndex={0}>{JSON.stringify({ event, adEvent, match }, null, 2)}</pre>
      </details>
    </div>
  );
}
