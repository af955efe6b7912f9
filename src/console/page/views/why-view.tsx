/**
 * Explains why a property is or is not a match. The user pastes the address of an advert, or an id. The searches that
 * the property satisfies are listed, and any other search can be chosen.
 */

import { useLayoutEffect, useState } from 'preact/hooks';
import { useAnswer, useRead } from '../answer.ts';
import { SelectField, TextField } from '../controls.tsx';
import { type Collection, cityLabel, type ExplanationDocument, idOf, type PropertyDocument } from '../documents.ts';
import { Empty, Icon, Loading, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { type Query, Refusal, type Rest } from '../rest.ts';
import { hrefOf, open } from '../route.ts';
import { language, useWords } from '../words/language.ts';

export function WhyView({ requested }: { readonly requested: string | null }) {
  const words = useWords();
  const [typed, setTyped] = useState(requested ?? '');
  // Before the page is drawn, so that letters typed immediately are not overwritten.
  useLayoutEffect(() => setTyped(requested ?? ''), [requested]);
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
      {requested === null ? <Empty title={words.whyEmpty} /> : <Answers key={requested} requested={requested} />}
    </div>
  );
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** An id may be that of a property or of an advert, so both are tried. */
async function explain<Body>(
  rest: Rest,
  path: string,
  requested: string,
  more: Query,
  signal: AbortSignal,
): Promise<Body> {
  if (/^https?:\/\//i.test(requested)) return rest.read<Body>(path, { url: requested, ...more }, signal);
  const id = UUID.exec(requested)?.[0] ?? requested;
  try {
    return await rest.read<Body>(path, { property: id, ...more }, signal);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) throw error;
    return rest.read<Body>(path, { advert: id, ...more }, signal);
  }
}

function Answers({ requested }: { readonly requested: string }) {
  const words = useWords();
  const model = useModel();
  const tag = useValue(language);
  const { list: searches } = useValue(model.searches);
  const [search, setSearch] = useState<string>('');
  const satisfied = useAnswer(
    (signal) =>
      explain<Collection<ExplanationDocument>>(model.rest, '/explanations', requested, { itemsPerPage: 30 }, signal),
    [requested, tag],
  );
  const one = useAnswer(
    async (signal) =>
      search === '' ? null : explain<ExplanationDocument>(model.rest, `${search}/explanation`, requested, {}, signal),
    [requested, search, tag],
  );
  const list = satisfied.value?.['hydra:member'] ?? [];
  const property = one.value?.property ?? list[0]?.property;
  const shown = search === '' ? list : [one.value ?? []].flat();
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
            ...searches.map(({ '@id': iri, title }) => [iri, title] as const),
          ]}
          onChoose={setSearch}
        />
      )}
      {search !== '' && <Problem text={one.problem} again={one.again} />}
      {satisfied.value !== null && search === '' && list.length === 0 && <p class="hint">{words.noneSatisfied}</p>}
      {shown.map((explanation, at) => (
        <Explanation key={explanation['@id']} explanation={explanation} isOpen={at === 0} />
      ))}
    </>
  );
}

/** The explained property. */
function Named({ property }: { readonly property: string }) {
  const words = useWords();
  const { value, problem } = useRead<PropertyDocument>(property);
  if (value === null) return <Problem text={problem} />;
  const { title, propertyType, city, price } = value;
  const type = propertyType === null ? null : words.propertyTypes[propertyType];
  return (
    <div class="card named">
      <h2>
        <a href={hrefOf('map', property)}>{title ?? words.untitled}</a>
      </h2>
      {[type, city && cityLabel(city), words.euros(price)].filter(Boolean).join(' · ')}
    </div>
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
