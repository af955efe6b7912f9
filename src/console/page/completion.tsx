/**
 * Completes names of places: a combobox with a list, which also works with the keyboard and screen readers. The
 * previous list stays clickable until the next one arrives. Enter waits for the next list and chooses its first item.
 */

import { useEffect, useId, useState } from 'preact/hooks';
import { useAnswer } from './answer.ts';
import type { Collection, LocationDocument } from './documents.ts';
import { useModel } from './model-context.ts';
import { pause } from './now.ts';
import { Refusal, Unreachable } from './rest.ts';
import { useWords } from './words/language.ts';

const SHOWN_MAX = 8;
const TYPING_MS = 150;

export interface CompletionProps {
  readonly label: string;
  onChoose(place: LocationDocument): void;
}

export function Completion({ label, onChoose }: CompletionProps) {
  const words = useWords();
  const id = useId();
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const [isAwaited, setAwaited] = useState(false);
  const { letters, places } = useCompletion(typed);
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
  /** The typed text that was completed. */
  readonly letters: string;
  readonly places: readonly LocationDocument[];
}

const NOTHING: Completed = { letters: '', places: [] };

/** Completed places. If a request fails, nothing is completed, and the next letter sends another request. */
function useCompletion(typed: string): Completed {
  const { rest } = useModel();
  const letters = typed.trim();
  const { value } = useAnswer(
    async (signal) => {
      if (letters === '') return NOTHING;
      await pause(TYPING_MS, signal);
      const query = { query: letters.slice(0, 100), itemsPerPage: SHOWN_MAX };
      const path = '/public/location-autocomplete';
      const page = await rest.read<Collection<LocationDocument>>(path, query, signal).catch((error: unknown) => {
        if (error instanceof Refusal || error instanceof Unreachable) return { 'hydra:member': [] };
        throw error;
      });
      return { letters, places: page['hydra:member'] };
    },
    [letters],
  );
  return value ?? NOTHING;
}
