/** The endpoints of webhooks: their state, a test, the signing secrets, and code that verifies signatures. */

import { useMemo, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../answer.ts';
import type { Collection, DeliveryDocument, EndpointHealth, SearchDocument } from '../documents.ts';
import { CopyButton, Empty, Field, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useNow } from '../now.ts';
import { useValue } from '../observable.ts';
import { useFormats } from '../words/formats.ts';
import { useWords, type Words } from '../words/language.ts';
import { WebhookSecrets } from './webhook-secrets.tsx';
import { WebhookTest } from './webhook-test.tsx';

/** Each endpoint takes a request. */
const ENDPOINTS_MAX = 30;
const CHECK_EVERY_MS = 10_000;

export function EndpointsView() {
  const words = useWords();
  const { list, isLoaded } = useValue(useModel().searches);
  const endpoints = useMemo(() => endpointsOf(list), [list]);
  return (
    <div class="wide">
      <h1>{words.views.endpoints}</h1>
      <section aria-labelledby="health">
        <h2 id="health">{words.health}</h2>
        {isLoaded && endpoints.length === 0 && (
          <Empty title={words.noEndpoint}>
            <p>{words.noEndpointHint}</p>
          </Empty>
        )}
        <ul class="cards">
          {endpoints.slice(0, ENDPOINTS_MAX).map((endpoint) => (
            <Health key={endpoint} endpoint={endpoint} />
          ))}
        </ul>
        {endpoints.length > ENDPOINTS_MAX && <p class="hint">{words.andMore(endpoints.length - ENDPOINTS_MAX)}</p>}
      </section>
      <WebhookTest endpoints={endpoints} />
      <Verification searches={list} />
      <WebhookSecrets />
    </div>
  );
}

function endpointsOf(searches: readonly SearchDocument[]): readonly string[] {
  const named = searches.flatMap(({ endpointRecipient, eventEndpoint }) => [endpointRecipient, eventEndpoint]);
  return [...new Set(named.filter((endpoint) => endpoint !== null))].sort();
}

/** The state of an endpoint, from its newest delivery; unknown without one. */
function Health({ endpoint }: { readonly endpoint: string }) {
  const words = useWords();
  const formats = useFormats();
  const { rest } = useModel();
  const beat = useNow(CHECK_EVERY_MS);
  const read = useAnswer(
    (signal) => rest.read<Collection<DeliveryDocument>>('/deliveries', { endpoint, itemsPerPage: 1 }, signal),
    [endpoint, beat],
  );
  const health = read.value?.['hydra:member'][0]?.endpointHealth ?? null;
  return (
    <li class="card">
      <p class="row-title">{endpoint}</p>
      <Problem text={read.problem} />
      {health === null ? (
        <p class="hint">{words.noHealth}</p>
      ) : (
        <>
          <p>
            <span class="tag" data-state={health.state}>
              {words.healths[health.state] ?? health.state}
            </span>{' '}
            {words.backlog(health.backlog)}
          </p>
          <p class="hint">
            {health.lastSuccessAt !== null && words.lastSuccess(formats.moment(health.lastSuccessAt))}
            {health.lastFailureAt !== null &&
              ` ${words.lastFailure(formats.moment(health.lastFailureAt), errorOf(health, words))}`}
          </p>
        </>
      )}
    </li>
  );
}

function errorOf({ lastError }: EndpointHealth, { attemptErrors }: Words): string {
  return lastError === null ? '' : (attemptErrors[lastError as keyof Words['attemptErrors']] ?? lastError);
}

/** The code samples of the documentation. */
const VERIFIERS = {
  'Node.js': 'verify.mjs',
  Python: 'verify.py',
  Go: 'verify.go',
  Java: 'verify.java',
  PHP: 'verify.php',
} as const;
const LANGUAGES = Object.keys(VERIFIERS) as (keyof typeof VERIFIERS)[];

function Verification({ searches }: { readonly searches: readonly SearchDocument[] }) {
  const words = useWords();
  const { rest } = useModel();
  const [chosen, setChosen] = useState<keyof typeof VERIFIERS>('Node.js');
  const [search, setSearch] = useState('');
  const code = useRef<HTMLPreElement>(null);
  const secret = (searches.find(({ '@id': iri }) => iri === search) ?? searches[0])?.token ?? 'whsec_…';
  const read = useAnswer(() => rest.readText(`/docs/${VERIFIERS[chosen]}`, {}, 'text/plain'), [chosen]);
  const snippet = (read.value ?? '').replace('SECRET', () => secret);
  return (
    <section class="card" aria-labelledby="verify">
      <h2 id="verify">{words.verify}</h2>
      <p class="hint">{searches.length === 0 ? words.verifyWithoutSearch : words.verifyHint}</p>
      <div class="line">
        {searches.length > 0 && (
          <Field label={words.secretOf}>
            {(ids) => (
              <select
                {...ids}
                value={search || searches[0]?.['@id']}
                onChange={({ currentTarget }) => setSearch(currentTarget.value)}
              >
                {searches.map(({ '@id': iri, title }) => (
                  <option key={iri} value={iri}>
                    {title}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        <div class="chips" role="group" aria-label={words.programmingLanguage}>
          {LANGUAGES.map((one) => (
            <button key={one} type="button" class="chip" aria-pressed={one === chosen} onClick={() => setChosen(one)}>
              {one}
            </button>
          ))}
        </div>
        <CopyButton label={words.copyCode} text={snippet} beside={code} />
      </div>
      <Problem text={read.problem} again={read.again} />
      <pre ref={code} class="code" role="group" tabIndex={0} aria-label={words.codeIn(chosen)}>
        {snippet}
      </pre>
    </section>
  );
}
