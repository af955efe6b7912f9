/**
 * Completes names of places: a combobox with a list, for keyboard and screen reader as well. The previous list stays until
 * the next one arrives, for the mouse; Enter waits for it, and chooses its first item.
 */

import { useEffect, useId, useState } from 'preact/hooks';
import type { Collection, LocationDocument } from './documents.ts';
import { useModel } from './model-context.ts';
import { pause } from './now.ts';
import { Refusal, Unreachable } from './rest.ts';
import { useWords } from './words/language.ts';

const SHOWN_MAX = 8;
const TYPING_MS = 150;

export interface CompletionProps {
  readonly label: string;
  /** The kinds of place to offer. Default all. */
  readonly types?: readonly LocationDocument['type'][];
  onChoose(place: LocationDocument): void;
}

export function Completion({ label, types, onChoose }: CompletionProps) {
  const words = useWords();
  const id = useId();
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const [isAwaited, setAwaited] = useState(false);
  const { letters, places } = useCompletion(typed, types);
  const isOpen = typed.trim() !== '' && places.length > 0;
  const offered = isOpen ? places : [];
  const isBehind = typed.trim() !== '' && letters !== typed.trim();
  const type = (text: string): void => {
    setTyped(text);
    setAwaited(false);
  };
  const choose = (place: LocationDocument | undefined): void => {
    if (place === undefined) return;
    type('');
    onChoose(place);
  };
  const press = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (event.key === 'Enter' && isBehind) setAwaited(true);
    else if (step !== undefined && isOpen) setActive(isBehind ? 0 : (active + step + places.length) % places.length);
    else if (event.key === 'Enter' && isOpen) choose(places[active]);
    else if (event.key === 'Escape') type('');
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    setActive(0);
    if (!isAwaited || isBehind) return;
    setAwaited(false);
    choose(places[0]);
  }, [places]);
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
        aria-activedescendant={isOpen && !isBehind ? `${id}-${active}` : undefined}
        value={typed}
        onInput={({ currentTarget }) => type(currentTarget.value)}
        onKeyDown={press}
      />
      <Places id={id} label={label} active={active} isBehind={isBehind} places={offered} onChoose={choose} />
    </div>
  );
}

interface PlacesProps {
  readonly id: string;
  readonly label: string;
  readonly places: readonly LocationDocument[];
  readonly active: number;
  readonly isBehind: boolean;
  onChoose(place: LocationDocument): void;
}

/** Hidden while it is empty. */
function Places({ id, label, places, active, isBehind, onChoose }: PlacesProps) {
  const words = useWords();
  return (
    <ul id={`${id}-list`} role="listbox" aria-label={label} aria-busy={isBehind} hidden={places.length === 0}>
      {places.map((place, at) => (
        <li
          key={place['@id']}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === active && !isBehind}
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(place);
          }}
        >
          {place.matchedName === null ? place.label : `${place.matchedName} → ${place.label}`}
          <small>{words.placeTypes[place.type]}</small>
        </li>
      ))}
    </ul>
  );
}

interface Completed {
  /** The typed text of their request. */
  readonly letters: string;
  readonly places: readonly LocationDocument[];
}

/** Completed places. A failed request completes nothing: the next letter requests again. */
function useCompletion(typed: string, types: CompletionProps['types']): Completed {
  const { rest } = useModel();
  const [completed, setCompleted] = useState<Completed>({ letters: '', places: [] });
  const letters = typed.trim();
  useEffect(() => {
    if (letters === completed.letters) return;
    const leaving = new AbortController();
    const complete = async (): Promise<readonly LocationDocument[]> => {
      if (letters === '') return [];
      const query = { query: letters.slice(0, 100), itemsPerPage: SHOWN_MAX * 2 };
      const page = await rest.read<Collection<LocationDocument>>(
        '/public/location-autocomplete',
        query,
        leaving.signal,
      );
      return page['hydra:member'].filter(({ type }) => types?.includes(type) ?? true).slice(0, SHOWN_MAX);
    };
    const answer = async (): Promise<void> => {
      await pause(TYPING_MS, leaving.signal);
      const places = await complete().catch((error: unknown) => {
        if (error instanceof Refusal || error instanceof Unreachable || leaving.signal.aborted) return [];
        throw error;
      });
      if (!leaving.signal.aborted) setCompleted({ letters, places });
    };
    void answer();
    return () => leaving.abort();
  }, [letters]);
  return completed;
}
