/**
 * Why a property is a match, or is not. The user pastes the address of an advert, or an id: the searches that the property
 * satisfies are listed, and any other one can be chosen.
 */

import { useLayoutEffect, useState } from 'preact/hooks';
import { type Asked, useAnswer } from '../answer.ts';
import { SelectField, TextField } from '../controls.tsx';
import { type Collection, cityLabel, type ExplanationDocument, idOf, type PropertyDocument } from '../documents.ts';
import { Empty, Icon, Loading, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { type Query, Refusal, type Rest } from '../rest.ts';
import { hrefOf, open } from '../route.ts';
import { useFormats } from '../words/formats.ts';
import { language, useWords } from '../words/language.ts';

export function WhyView({ asked }: { readonly asked: string | null }) {
  const words = useWords();
  const [typed, setTyped] = useState(asked ?? '');
  // Before the page is drawn: what is typed at once is not overwritten.
  useLayoutEffect(() => setTyped(asked ?? ''), [asked]);
  const ask = (event: Event): void => {
    event.preventDefault();
    if (typed.trim() !== '') open('why', typed.trim());
  };
  return (
    <div class="wide">
      <h1>{words.views.why}</h1>
      <form class="line" onSubmit={ask}>
        <TextField
          label={words.whichAdvert}
          hint={words.whichAdvertHint}
          name="advert"
          value={typed}
          spellcheck={false}
          onText={setTyped}
        />
        <button type="submit" class="primary">
          {words.explain}
        </button>
      </form>
      {asked === null ? <Empty title={words.whyEmpty} /> : <Answers key={asked} asked={asked} />}
    </div>
  );
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** An id may be that of a property or of an advert: both are tried. */
async function explain<Body>(rest: Rest, path: string, asked: string, more: Query, signal: AbortSignal): Promise<Body> {
  if (/^https?:\/\//i.test(asked)) return rest.read<Body>(path, { url: asked, ...more }, signal);
  const id = UUID.exec(asked)?.[0] ?? asked;
  try {
    return await rest.read<Body>(path, { property: id, ...more }, signal);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) throw error;
    return rest.read<Body>(path, { advert: id, ...more }, signal);
  }
}

function Answers({ asked }: { readonly asked: string }) {
  const words = useWords();
  const model = useModel();
  const tag = useValue(language);
  const { list } = useValue(model.searches);
  const [search, setSearch] = useState<string>('');
  const satisfied = useAnswer(
    (signal) =>
      explain<Collection<ExplanationDocument>>(model.rest, '/explanations', asked, { itemsPerPage: 30 }, signal),
    [asked, tag],
  );
  const one = useAnswer(
    async (signal) =>
      search === '' ? null : explain<ExplanationDocument>(model.rest, `${search}/explanation`, asked, {}, signal),
    [asked, search, tag],
  );
  const property = one.value?.property ?? satisfied.value?.['hydra:member'][0]?.property;
  return (
    <>
      <Loading isShown={satisfied.isLoading || one.isLoading} />
      <Problem text={satisfied.problem} again={satisfied.again} />
      {property !== undefined && <Named property={property} />}
      {satisfied.value !== null && (
        <SelectField
          label={words.whichSearch}
          value={search}
          choices={[
            ['', words.satisfiedSearches(satisfied.value['hydra:totalItems'])],
            ...list.map(({ '@id': iri, title }) => [iri, title] as const),
          ]}
          onChoose={setSearch}
        />
      )}
      {search === '' ? <Satisfied answer={satisfied} /> : <Single answer={one} />}
    </>
  );
}

/** The explained property. */
function Named({ property }: { readonly property: string }) {
  const words = useWords();
  const formats = useFormats();
  const { rest } = useModel();
  const { value, problem } = useAnswer((signal) => rest.read<PropertyDocument>(property, {}, signal), [property]);
  if (value === null) return <Problem text={problem} />;
  const { title, propertyType, city, price } = value;
  const type = propertyType === null ? null : words.propertyTypes[propertyType];
  return (
    <div class="card named">
      <h2>
        <a href={hrefOf('map', property)}>{title ?? words.untitled}</a>
      </h2>
      {[type, city && cityLabel(city), formats.euros(price)].filter(Boolean).join(' · ')}
    </div>
  );
}

function Satisfied({ answer }: { readonly answer: Asked<Collection<ExplanationDocument>> }) {
  const words = useWords();
  const list = answer.value?.['hydra:member'] ?? [];
  return (
    <>
      {answer.value !== null && list.length === 0 && <p class="hint">{words.noneSatisfied}</p>}
      {list.map((explanation, at) => (
        <Explanation key={explanation['@id']} explanation={explanation} isOpen={at === 0} />
      ))}
    </>
  );
}

function Single({ answer }: { readonly answer: Asked<ExplanationDocument | null> }) {
  return (
    <>
      <Problem text={answer.problem} again={answer.again} />
      {answer.value !== null && <Explanation explanation={answer.value} isOpen />}
    </>
  );
}

function Explanation({ explanation, isOpen }: { readonly explanation: ExplanationDocument; readonly isOpen: boolean }) {
  const words = useWords();
  const { byIri } = useValue(useModel().searches);
  const { search, satisfied, criteria, matchReason, match } = explanation;
  const failed = criteria.filter(({ holds }) => !holds).length;
  return (
    <details class="card explanation" open={isOpen} data-satisfied={satisfied}>
      <summary>
        <span class="tag" data-state={satisfied ? 'delivered' : 'failed'}>
          {satisfied ? words.satisfied : words.fails(failed)}
        </span>
        <strong>{byIri.get(search)?.title ?? search}</strong>
      </summary>
      <p>{matchReason}</p>
      <ul class="criteria">
        {[...criteria.filter(({ holds }) => !holds), ...criteria.filter(({ holds }) => holds)].map(
          ({ criterion, holds, reason }) => (
            <li key={criterion} data-holds={holds}>
              <Icon name={holds ? 'yes' : 'no'} />
              <span>
                <span class="visually-hidden">{holds ? words.holds : words.holdsNot} </span>
                <strong>{words.criteria[criterion]}</strong> {reason}
              </span>
            </li>
          ),
        )}
      </ul>
      <p class="actions">
        <a href={hrefOf('searches', idOf(search))}>{words.openSearch}</a>
        {match !== null && <a href={hrefOf('map', idOf(match))}>{words.openProperty}</a>}
      </p>
    </details>
  );
}
