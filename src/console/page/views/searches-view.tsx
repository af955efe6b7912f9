/** The client's searches as a list, and the one that is being edited. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { useMutation } from '../answer.ts';
import { Check } from '../controls.tsx';
import { idOf, type SearchDocument } from '../documents.ts';
import { codesOf } from '../editor/draft.ts';
import { Editor } from '../editor/editor.tsx';
import { switchNotifications } from '../editor/held-search.ts';
import { Empty, Loading, Problem } from '../elements.tsx';
import { folded } from '../filters.ts';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { OutlookLines } from '../outlook.tsx';
import { hrefOf } from '../route.ts';
import { useFormats } from '../words/formats.ts';
import { useWords, type Words } from '../words/language.ts';
import { Chunks } from './chunks.tsx';

const ROW_PIXELS = 110;

export function SearchesView({ id }: { readonly id: string | null }) {
  return id === null ? <SearchList /> : <Editor key={id} id={id} />;
}

function SearchList() {
  const words = useWords();
  const model = useModel();
  const { list, isLoaded, total } = useValue(model.searches);
  useEffect(model.refreshSearches, []);
  const [typed, setTyped] = useState('');
  const found = useMemo(() => list.filter(({ title }) => folded(title).includes(folded(typed))), [list, typed]);
  return (
    <div class="overview">
      <h1>{words.views.searches}</h1>
      <a class="button primary" href={hrefOf('searches', 'new')}>
        {words.newSearch}
      </a>
      <Loading isShown={!isLoaded} />
      {isLoaded && total === 0 && <Empty title={words.noSearch}>{words.noSearchHint}</Empty>}
      {total > 5 && (
        <input
          type="search"
          aria-label={words.filterTitles}
          placeholder={words.filterTitles}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      )}
      <div role="list" class="list searches">
        <Chunks
          rows={found}
          rowPixels={ROW_PIXELS}
          row={(search, props) => (
            <div key={search['@id']} role="listitem" {...props}>
              <SearchRow search={search} />
            </div>
          )}
        />
      </div>
      {list.length > 0 && found.length === 0 && <p class="hint">{words.noTitle}</p>}
      {isLoaded && total > list.length && <p class="hint">{words.searchesEnd(list.length, total)}</p>}
    </div>
  );
}

function SearchRow({ search }: { readonly search: SearchDocument }) {
  const words = useWords();
  const formats = useFormats();
  const model = useModel();
  const mutation = useMutation();
  const { '@id': iri, title, notificationEnabled, lastAlertAt } = search;
  const toggle = (): void =>
    mutation.run(async () => {
      model.putSearch(await switchNotifications(model.rest, iri, !notificationEnabled));
    });
  return (
    <>
      <div class="search-row">
        <a href={hrefOf('searches', idOf(iri))}>
          <span class="row-title">{title}</span>
          <span class="row-more">{summaryOf(search, words)}</span>
          <span class="row-more">
            <OutlookLines search={search} />
          </span>
          <span class="row-more">
            {lastAlertAt === null ? words.neverAlerted : words.lastAlert(formats.moment(lastAlertAt))}
          </span>
        </a>
        <Check
          role="switch"
          aria-label={words.notifyFor(title)}
          checked={notificationEnabled}
          disabled={mutation.isUnderWay}
          onChange={toggle}
        />
      </div>
      <Problem text={mutation.problem} />
    </>
  );
}

/** `Sale · Apartment · ≤ 300 000 · Toulon` */
function summaryOf(search: SearchDocument, words: Words): string {
  const types = codesOf(search.propertyTypes).map((code) => words.propertyTypes[code]);
  const places = [
    ...search.includedCities.map(({ name }) => name),
    ...search.includedDepartments.map(({ name }) => name),
    ...search.includedZipcodes,
    ...(search.radius === null ? [] : [words.circleOf(search.radius)]),
    ...(search.geoShapes.length === 0 ? [] : [words.polygonCount(search.geoShapes.length)]),
  ];
  const shown = places.length > 3 ? [...places.slice(0, 3), `+${places.length - 3}`] : places;
  const transaction = search.transactionType === null ? [] : [words.transactions[Number(search.transactionType)]];
  return [...transaction, ...types, shown.length === 0 ? words.everywhere : shown.join(', ')].join(' · ');
}
