/**
 * Completes names of places or publishers: a combobox with a list, which also works with the keyboard and screen
 * readers. The previous list stays clickable until the next one arrives. Enter chooses the active item; while a list is
 * awaited, Enter chooses the first item of that list.
 */

import { useEffect, useId, useState } from 'preact/hooks';
import { useAnswer } from './answer.ts';
import type { Collection, LocationDocument, PublisherNameDocument } from './documents.ts';
import { useModel } from './model-context.ts';
import { pause } from './now.ts';
import { Refusal, Unreachable } from './rest.ts';
import { useWords, type Words } from './words/language.ts';

const SHOWN_MAX = 8;
const TYPING_MS = 150;

export interface CompletionSource<Item> {
  readonly path: string;
  queryOf(letters: string): Readonly<Record<string, string | number>>;
  exampleOf(words: Words): string;
  keyOf(item: Item): string;
  textOf(item: Item): string;
  noteOf(item: Item, words: Words): string;
  /** An item for the typed text itself, offered last; null if only completed ones may be chosen. */
  typedItem(letters: string): Item | null;
}

export const PLACES: CompletionSource<LocationDocument> = {
  path: '/public/location-autocomplete',
  queryOf: (query) => ({ query, itemsPerPage: SHOWN_MAX }),
  exampleOf: (words) => words.placeExample,
  keyOf: (place) => place['@id'],
  textOf: ({ matchedName, label }) => (matchedName === null ? label : `${matchedName} → ${label}`),
  noteOf: ({ type }, words) => words.placeTypes[type],
  typedItem: () => null,
};

/** Publishers without a recent advert may be named, too. */
export const PUBLISHERS: CompletionSource<Pick<PublisherNameDocument, 'name'>> = {
  path: '/publishers',
  queryOf: (name) => ({ name }),
  exampleOf: (words) => words.publisherExample,
  keyOf: ({ name }) => name,
  textOf: ({ name }) => name,
  noteOf: () => '',
  typedItem: (name) => ({ name }),
};

interface CompletionProps<Item> {
  readonly label: string;
  readonly source: CompletionSource<Item>;
  onChoose(item: Item): void;
}

export function Completion<Item>({ label, source, onChoose }: CompletionProps<Item>) {
  const words = useWords();
  const id = useId();
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const [isAwaited, setAwaited] = useState(false);
  const { letters, items } = useCompletion(typed, source);
  const isOpen = typed.trim() !== '' && items.length > 0;
  const offered = isOpen ? items : [];
  const isBehind = typed.trim() !== '' && letters !== typed.trim();
  const type = (text: string): void => {
    setTyped(text);
    setAwaited(false);
  };
  const choose = (item: Item | undefined): void => {
    if (item === undefined) return;
    type('');
    onChoose(item);
  };
  const press = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (event.key === 'Enter' && isBehind) setAwaited(true);
    else if (step !== undefined && isOpen) setActive(isBehind ? 0 : (active + step + items.length) % items.length);
    else if (event.key === 'Enter' && isOpen) choose(items[active]);
    else if (event.key === 'Escape') type('');
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    setActive(0);
    if (!isAwaited || isBehind) return;
    setAwaited(false);
    choose(items[0]);
  }, [items]);
  return (
    <div class="field completion">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        placeholder={source.exampleOf(words)}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && !isBehind ? `${id}-${active}` : undefined}
        value={typed}
        onInput={({ currentTarget }) => type(currentTarget.value)}
        onKeyDown={press}
      />
      <Offered {...{ id, label, source, active, isBehind }} items={offered} onChoose={choose} />
    </div>
  );
}

interface OfferedProps<Item> extends CompletionProps<Item> {
  readonly id: string;
  readonly items: readonly Item[];
  readonly active: number;
  readonly isBehind: boolean;
}

/** Hidden while it is empty. */
function Offered<Item>({ id, label, source, items, active, isBehind, onChoose }: OfferedProps<Item>) {
  const words = useWords();
  return (
    <ul id={`${id}-list`} role="listbox" aria-label={label} aria-busy={isBehind} hidden={items.length === 0}>
      {items.map((item, at) => (
        <li
          key={source.keyOf(item)}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === active && !isBehind}
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(item);
          }}
        >
          {source.textOf(item)}
          <small>{source.noteOf(item, words)}</small>
        </li>
      ))}
    </ul>
  );
}

interface Completed<Item> {
  /** The typed text that was completed. */
  readonly letters: string;
  readonly items: readonly Item[];
}

const NOTHING: Completed<never> = { letters: '', items: [] };

/** If a request fails, nothing is completed, and the next letter sends another request. */
function useCompletion<Item>(typed: string, source: CompletionSource<Item>): Completed<Item> {
  const { rest } = useModel();
  const letters = typed.trim();
  const { value } = useAnswer(
    async (signal) => {
      if (letters === '') return NOTHING;
      await pause(TYPING_MS, signal);
      const query = source.queryOf(letters.slice(0, 100));
      const page = await rest.read<Collection<Item>>(source.path, query, signal).catch((error: unknown) => {
        if (error instanceof Refusal || error instanceof Unreachable) return { 'hydra:member': [] };
        throw error;
      });
      const items = page['hydra:member'].slice(0, SHOWN_MAX);
      const own = source.typedItem(letters);
      const isKnown = own === null || items.some((item) => source.keyOf(item) === source.keyOf(own));
      return { letters, items: isKnown ? items : [...items, own] };
    },
    [letters],
  );
  return value ?? NOTHING;
}
