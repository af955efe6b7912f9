/** The list of the client's searches, and the search that is being edited. */

import { useEffect } from 'preact/hooks';
import { useAnswer } from '../answer.ts';
import { SearchInput, Select } from '../controls.tsx';
import { Editor } from '../editor/editor.tsx';
import { Empty, Loading, Problem } from '../elements.tsx';
import { readSearches } from '../model.ts';
import { useModel } from '../model-context.ts';
import { pause } from '../now.ts';
import { observable, useValue } from '../observable.ts';
import type { Query } from '../rest.ts';
import { hrefOf } from '../route.ts';
import { useWords } from '../words/language.ts';
import { Chunks } from './chunks.tsx';
import { SearchRow } from './search-row.tsx';

const ROW_PIXELS = 150;
const TYPING_MS = 150;

export function SearchesView({ id }: { readonly id: string | null }) {
  return id === null ? <SearchList /> : <Editor key={id} id={id} />;
}

/** Kept while a search is open. `state`: of notifications, or an `emailStatus`. */
const listFilter = observable({ text: '', state: '' });

function queryOf({ text, state }: ReturnType<typeof listFilter.get>): Query {
  const isSwitch = state === 'on' || state === 'off';
  return { q: text.trim(), ...(isSwitch ? { notificationEnabled: state === 'on' } : { emailStatus: state }) };
}

function SearchList() {
  const words = useWords();
  const model = useModel();
  const { list, byIri, isLoaded, total } = useValue(model.searches);
  useEffect(model.refreshSearches, []);
  const filter = useValue(listFilter);
  const isFiltered = filter.text.trim() !== '' || filter.state !== '';
  // Filtered by the service, because the page may have read only some of the searches.
  const found = useAnswer(
    async (signal) => {
      if (!isFiltered) return null;
      await pause(TYPING_MS, signal);
      return readSearches(model.rest, signal, queryOf(filter));
    },
    [filter],
  );
  const shown = isFiltered && found.value !== null ? found.value : { list, total };
  return (
    <div class="overview">
      <h1>{words.views.searches}</h1>
      <a class="button primary" href={hrefOf('searches', 'new')}>
        {words.newSearch}
      </a>
      <Loading isShown={!isLoaded || (isFiltered && found.isLoading)} />
      {isLoaded && total === 0 && <Empty title={words.noSearch}>{words.noSearchHint}</Empty>}
      {(total > 1 || isFiltered) && <ListFilter />}
      <Problem text={isFiltered ? found.problem : null} again={found.again} />
      <div role="list" class="list searches" aria-busy={isFiltered && found.isLoading}>
        <Chunks
          rows={shown.list}
          rowPixels={ROW_PIXELS}
          row={(search, props) => (
            <div key={search['@id']} role="listitem" {...props}>
              <SearchRow search={byIri.get(search['@id']) ?? search} />
            </div>
          )}
        />
      </div>
      {isFiltered && !found.isLoading && shown.list.length === 0 && <p class="hint">{words.noSearchFound}</p>}
      {isLoaded && shown.total > shown.list.length && (
        <p class="hint">{words.searchesEnd(shown.list.length, shown.total)}</p>
      )}
    </div>
  );
}

function ListFilter() {
  const words = useWords();
  const filter = useValue(listFilter);
  return (
    <div class="filters">
      <SearchInput
        label={words.filterSearches}
        value={filter.text}
        onText={(text) => listFilter.set({ ...filter, text })}
      />
      <Select
        aria-label={words.state}
        value={filter.state}
        choices={[['', words.allStates], ...Object.entries(words.searchStates)]}
        onChoose={(state) => listFilter.set({ ...filter, state })}
      />
    </div>
  );
}
