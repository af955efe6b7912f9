/** Names of places, completed while they are typed: a combobox with a list beneath, for keyboard and screen reader as well. */

import { useEffect, useId, useState } from 'preact/hooks';
import type { Collection, LocationDocument } from './documents.ts';
import { useModel } from './model-context.ts';
import { pause } from './pause.ts';
import { Refusal, Unreachable } from './rest.ts';
import { useWords } from './words/language.ts';

const SHOWN_MAX = 8;
const TYPING_MS = 150;

export interface CompletionProps {
  readonly label: string;
  /** What kinds of place are offered; all of them unless said otherwise. */
  readonly types?: readonly LocationDocument['type'][];
  onChoose(place: LocationDocument): void;
}

export function Completion({ label, types, onChoose }: CompletionProps) {
  const words = useWords();
  const id = useId();
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const found = useCompletion(typed, types);
  const isOpen = typed.trim() !== '' && found.length > 0;
  const choose = (place: LocationDocument | undefined): void => {
    if (place === undefined) return;
    setTyped('');
    onChoose(place);
  };
  const press = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined && isOpen) setActive((active + step + found.length) % found.length);
    else if (event.key === 'Enter' && isOpen) choose(found[active]);
    else if (event.key === 'Escape') setTyped('');
    else return;
    event.preventDefault();
  };
  useEffect(() => setActive(0), [found]);
  return (
    <div class="field completion">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        placeholder={words.placeExample}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen ? `${id}-${active}` : undefined}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onKeyDown={press}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={label} hidden={!isOpen}>
        {(isOpen ? found : []).map((place, at) => (
          <li
            key={place['@id']}
            id={`${id}-${at}`}
            role="option"
            aria-selected={at === active}
            onMouseDown={(event) => {
              event.preventDefault();
              choose(place);
            }}
          >
            {place.label}
            <small>{words.placeTypes[place.type]}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

const NOTHING: readonly LocationDocument[] = [];

/** Places that may be meant. What cannot be answered just now completes nothing: the next letter asks again. */
function useCompletion(typed: string, types: CompletionProps['types']): readonly LocationDocument[] {
  const { rest } = useModel();
  const [found, setFound] = useState(NOTHING);
  useEffect(() => {
    const leaving = new AbortController();
    const complete = async (): Promise<void> => {
      await pause(TYPING_MS, leaving.signal);
      if (leaving.signal.aborted || typed.trim() === '') return setFound(NOTHING);
      try {
        const query = { query: typed.trim().slice(0, 100), itemsPerPage: SHOWN_MAX * 2 };
        const page = await rest.read<Collection<LocationDocument>>(
          '/public/location-autocomplete',
          query,
          leaving.signal,
        );
        setFound(page['hydra:member'].filter(({ type }) => types?.includes(type) ?? true).slice(0, SHOWN_MAX));
      } catch (error) {
        if (leaving.signal.aborted) return;
        if (!(error instanceof Refusal) && !(error instanceof Unreachable)) throw error;
        setFound(NOTHING);
      }
    };
    void complete();
    return () => leaving.abort();
  }, [typed]);
  return found;
}
