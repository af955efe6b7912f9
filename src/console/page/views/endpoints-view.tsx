/** The endpoints of webhooks: their state and pauses, a test, and code that verifies signatures. */

import { useMemo, useRef, useState } from 'preact/hooks';
import { useAnswer, useMutation, useRead } from '../answer.ts';
import { Chips, SelectField } from '../controls.tsx';
import type { Collection, EndpointDocument, SearchDocument } from '../documents.ts';
import { CopyButton, Empty, Problem } from '../elements.tsx';
import { VERIFIERS } from '../generated/documents.ts';
import { useModel } from '../model-context.ts';
import { useNow } from '../now.ts';
import { useValue } from '../observable.ts';
import { randomId } from '../random-id.ts';
import { useWords } from '../words/language.ts';
import { errorIn } from './delivery-row.tsx';
import { WebhookTest } from './webhook-test.tsx';

const CHECK_EVERY_MS = 10_000;
const ENDPOINTS_MAX = 100;

export function EndpointsView() {
  const words = useWords();
  const { list } = useValue(useModel().searches);
  const named = useMemo(() => endpointsOf(list), [list]);
  const now = useNow(CHECK_EVERY_MS);
  const read = useRead<Collection<EndpointDocument>>('/endpoints', { itemsPerPage: ENDPOINTS_MAX }, [named, now]);
  const endpoints = read.value?.['hydra:member'] ?? [];
  const more = (read.value?.['hydra:totalItems'] ?? 0) - endpoints.length;
  return (
    <div class="wide">
      <h1>{words.views.endpoints}</h1>
      <section aria-labelledby="health">
        <h2 id="health">{words.health}</h2>
        <Problem text={read.problem} again={read.again} />
        {read.value !== null && endpoints.length === 0 && (
          <Empty title={words.noEndpoint}>
            <p>{words.noEndpointHint}</p>
          </Empty>
        )}
        <ul class="cards">
          {endpoints.map((endpoint) => (
            <Endpoint key={endpoint['@id']} endpoint={endpoint} onChange={read.again} />
          ))}
        </ul>
        {more > 0 && <p class="hint">{words.andMore(more)}</p>}
      </section>
      <WebhookTest endpoints={named} />
      <Verification searches={list} />
    </div>
  );
}

function endpointsOf(searches: readonly SearchDocument[]): readonly string[] {
  const named = searches.flatMap(({ endpointRecipient, eventEndpoint }) => [endpointRecipient, eventEndpoint]);
  return [...new Set(named.filter((endpoint) => endpoint !== null))].sort();
}

/** A series of failures may begin with a webhook created this long before: it has five retries, an hour apart. */
const CREATED_BEFORE_MS = 6 * 3_600_000;

interface EndpointProps {
  readonly endpoint: EndpointDocument;
  onChange(): void;
}

/** An endpoint's state, and a button to pause or resume it. After it resumes, failed deliveries can be sent again. */
function Endpoint({ endpoint, onChange }: EndpointProps) {
  const words = useWords();
  const { rest } = useModel();
  const mutation = useMutation();
  const [failedSince, setFailedSince] = useState<string | null>(null);
  const { url, state, pausedBy, since, failingSince, lastError, waiting } = endpoint;
  const isPaused = pausedBy === 'client' || pausedBy === 'failures';
  const change = (): void =>
    mutation.run(async () => {
      await rest.ask('PATCH', endpoint['@id'], { body: { paused: !isPaused } });
      setFailedSince(isPaused ? failingSince : null);
      onChange();
    });
  const recover = (): void =>
    mutation.run(async () => {
      const headers = { 'Idempotency-Key': randomId() };
      const since = new Date(Date.parse(failedSince ?? '') - CREATED_BEFORE_MS).toISOString();
      await rest.ask('POST', '/recoveries', { body: { since, endpoint: url }, headers });
      setFailedSince(null);
    });
  return (
    <li class="card">
      <p class="row-title">{url}</p>
      <p>
        <span class="tag" data-state={state}>
          {pausedBy === null ? words.healths[state] : words.pausedBy[pausedBy]}
        </span>{' '}
        {words.backlog(waiting)}
      </p>
      {since !== null && (
        <p class="hint">{words.sinceThen(words.moment(since), lastError === null ? '' : errorIn(words, lastError))}</p>
      )}
      <div class="line">
        {pausedBy !== 'operator' && (
          <button type="button" disabled={mutation.isUnderWay} onClick={change}>
            {isPaused ? words.resume : words.pause}
          </button>
        )}
        {failedSince !== null && (
          <button type="button" disabled={mutation.isUnderWay} onClick={recover}>
            {words.sendFailedAgain}
          </button>
        )}
      </div>
      <Problem text={mutation.problem} />
    </li>
  );
}

const LANGUAGES = (Object.keys(VERIFIERS) as (keyof typeof VERIFIERS)[]).map((one) => [one, one] as const);

function Verification({ searches }: { readonly searches: readonly SearchDocument[] }) {
  const words = useWords();
  const { rest } = useModel();
  const [chosen, setChosen] = useState<keyof typeof VERIFIERS>('Node.js');
  const [search, setSearch] = useState('');
  const [isShown, setShown] = useState(false);
  const code = useRef<HTMLPreElement>(null);
  const secret = (searches.find(({ '@id': iri }) => iri === search) ?? searches[0])?.token ?? 'whsec_…';
  const read = useAnswer(() => rest.readText(`/docs/${VERIFIERS[chosen]}`, {}, 'text/plain'), [chosen]);
  const withSecret = (text: string): string => (read.value ?? '').replace('SECRET', () => text);
  return (
    <section class="card" aria-labelledby="verify">
      <h2 id="verify">{words.verify}</h2>
      <p class="hint">{searches.length === 0 ? words.verifyWithoutSearch : words.verifyHint}</p>
      <div class="line">
        {searches.length > 0 && (
          <SelectField
            label={words.secretOf}
            value={search || searches[0]?.['@id']}
            choices={searches.map(({ '@id': iri, title }) => [iri, title])}
            onChoose={setSearch}
          />
        )}
        <Chips
          label={words.programmingLanguage}
          choices={LANGUAGES}
          chosen={[chosen]}
          onPress={(one) => setChosen(one)}
        />
        <CopyButton label={words.copyCode} text={withSecret(secret)} beside={code} />
        <button type="button" class="quiet" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
          {words.showSecret}
        </button>
      </div>
      <Problem text={read.problem} again={read.again} />
      <pre ref={code} class="code" role="group" tabIndex={0} aria-label={words.codeIn(chosen)}>
        {withSecret(isShown ? secret : 'whsec_…')}
      </pre>
    </section>
  );
}
