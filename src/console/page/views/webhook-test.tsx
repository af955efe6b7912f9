/** Sends one signed test delivery to an endpoint, and shows its answer. */

import { useId, useState } from 'preact/hooks';
import { useMutation } from '../answer.ts';
import { SelectField, TextField } from '../controls.tsx';
import type { WebhookTestDocument } from '../documents.ts';
import { Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { useWords } from '../words/language.ts';

export function WebhookTest({ endpoints }: { readonly endpoints: readonly string[] }) {
  const words = useWords();
  const model = useModel();
  const { list } = useValue(model.searches);
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
        <TextField
          label={words.endpoint}
          inputMode="url"
          name="endpoint"
          list={known}
          required
          value={endpoint}
          onText={setEndpoint}
        />
        <datalist id={known}>
          {endpoints.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <SelectField
          label={words.kindOfEvent}
          value={eventType}
          choices={Object.entries(words.events)}
          onChoose={setEventType}
        />
        <SelectField
          label={words.signedAs}
          value={search}
          choices={[['', words.signedByTest], ...list.map(({ '@id': iri, title }) => [iri, title] as const)]}
          onChoose={setSearch}
        />
        <button type="submit" class="primary" disabled={mutation.isUnderWay}>
          {mutation.isUnderWay ? words.sending : words.sendTest}
        </button>
      </form>
      <Problem text={mutation.problem} />
      {answer !== null && <Outcome answer={answer} />}
    </section>
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
        {/* Next to a status, the error adds nothing. */}
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
