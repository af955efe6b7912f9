/** The log of deliveries, newest first, read again every few seconds. */

import { useAnswer } from '../answer.ts';
import { type Choices, Select } from '../controls.tsx';
import { type Collection, type DeliveryDocument, idOf } from '../documents.ts';
import { Empty, Loading, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useNow } from '../now.ts';
import { useValue } from '../observable.ts';
import { open, route } from '../route.ts';
import { useWords, type Words } from '../words/language.ts';
import { DeliveryRow } from './delivery-row.tsx';

const CHECK_EVERY_MS = 5_000;
const PER_PAGE = 30;

export function DeliveriesView({ search }: { readonly search: string | null }) {
  const words = useWords();
  const model = useModel();
  const { query } = useValue(route);
  const requested: Requested = {
    search: search ?? '',
    status: query.status ?? '',
    channel: query.channel ?? '',
    event: query.event ?? '',
    page: Number(query.page ?? 1) || 1,
  };
  const choose = ({ search: next, page: at, ...others }: Requested): void =>
    open('deliveries', next || null, { ...others, page: at > 1 ? String(at) : '' });
  const connection = useValue(model.connection);
  const now = useNow(CHECK_EVERY_MS);
  const latest = useValue(model.latest);
  const page = useAnswer(
    async (signal) => {
      const wanted = { ...requested, itemsPerPage: PER_PAGE };
      const read = await model.rest.read<Collection<DeliveryDocument>>('/deliveries', wanted, signal);
      await model.readMatches(
        read['hydra:member'].map(({ match }) => match),
        signal,
      );
      return read;
    },
    [JSON.stringify(requested)],
    [now, latest, connection],
  );
  const list = page.value?.['hydra:member'] ?? [];
  const total = page.value?.['hydra:totalItems'] ?? 0;
  return (
    <div class="wide">
      <h1>{words.views.deliveries}</h1>
      <DeliveryFilters requested={requested} onChange={(change) => choose({ ...requested, page: 1, ...change })} />
      <Problem text={connection === 'lost' ? null : page.problem} again={page.again} />
      <Loading isShown={page.value === null && page.isLoading} />
      {page.value !== null && list.length === 0 && (
        <Empty title={words.noDelivery}>
          <p>{words.noDeliveryHint}</p>
        </Empty>
      )}
      <ul class="deliveries">
        {list.map((delivery) => (
          <DeliveryRow key={delivery['@id']} delivery={delivery} onChange={page.again} />
        ))}
      </ul>
      {total > PER_PAGE && (
        <Pages page={requested.page} total={total} onPage={(next) => choose({ ...requested, page: next })} />
      )}
    </div>
  );
}

/** The filters of the address. */
type Requested = Readonly<Record<FilterName, string>> & { readonly page: number };
type FilterName = 'search' | 'status' | 'channel' | 'event';

interface FiltersProps {
  readonly requested: Requested;
  onChange(change: Partial<Requested>): void;
}

function DeliveryFilters({ requested, onChange }: FiltersProps) {
  const words = useWords();
  const { list } = useValue(useModel().searches);
  const searches = list.map(({ '@id': iri, title }) => [idOf(iri), title] as const);
  const choice = (member: FilterName, label: string, all: string, choices: Choices) => (
    <Select
      aria-label={label}
      value={requested[member]}
      choices={[['', all], ...choices]}
      onChoose={(value) => onChange({ [member]: value })}
    />
  );
  return (
    <div class="filters">
      {choice('search', words.search, words.allSearches(list.length), searches)}
      {choice('status', words.state, words.allStates, Object.entries(words.states))}
      {choice('channel', words.channel, words.allChannels, Object.entries(words.channels))}
      {choice('event', words.kindOfEvent, words.allEvents, Object.entries(words.events))}
    </div>
  );
}

function Pages({ page, total, onPage }: { readonly page: number; readonly total: number; onPage(page: number): void }) {
  const words: Words = useWords();
  const last = Math.ceil(total / PER_PAGE);
  return (
    <div class="pages">
      <button type="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        {words.newer}
      </button>
      <span>{words.pageOf(page, last)}</span>
      <button type="button" disabled={page >= last} onClick={() => onPage(page + 1)}>
        {words.older}
      </button>
    </div>
  );
}
