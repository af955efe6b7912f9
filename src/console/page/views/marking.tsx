/** Keeps or hides a property in a search, and stores a note on it. */

import { useState } from 'preact/hooks';
import { useMutation, useRead } from '../answer.ts';
import { Chips } from '../controls.tsx';
import type { MarkDocument, MatchDocument, PropertyDocument } from '../documents.ts';
import { Field, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { useWords } from '../words/language.ts';

const STATES = ['kept', 'hidden'] as const;

interface MarkingProps {
  /** IRI. */
  readonly search: string;
  /** Null if nothing was notified. */
  readonly match: MatchDocument | null;
  readonly document: PropertyDocument;
}

export function Marking({ search, match, document }: MarkingProps) {
  const words = useWords();
  const model = useModel();
  const { byIri } = useValue(model.searches);
  const mutation = useMutation();
  const path = `${search}/properties/${document.uuid}/mark`;
  const read = useRead<MarkDocument>(path);
  const [saved, setSaved] = useState<MarkDocument | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const mark = saved ?? read.value;
  if (mark === null) return <Problem text={read.problem} again={read.again} />;
  const note = typed ?? mark.note ?? '';
  const change = (body: Partial<MarkDocument>): void =>
    mutation.run(async () => {
      const { body: present } = await model.rest.ask<MarkDocument>('PUT', path, { body });
      setSaved(present);
      model.putMark(present);
      // The match may have been removed from the map while the property was hidden.
      if (match !== null && present.state !== 'hidden')
        void model.readMatches([match['@id']], new AbortController().signal);
    });
  return (
    <section class="marking">
      <Chips
        label={words.markFor(byIri.get(search)?.title ?? words.search)}
        choices={STATES.map((state) => [state, words.mark[state]])}
        chosen={mark.state === null ? [] : [mark.state]}
        onPress={(state) => change({ state: state === mark.state ? null : state })}
      />
      <Field label={words.note}>
        {(ids) => (
          <textarea {...ids} rows={2} value={note} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
        )}
      </Field>
      <button
        type="button"
        disabled={mutation.isUnderWay || note === (mark.note ?? '')}
        onClick={() => change({ note })}
      >
        {words.saveNote}
      </button>
      {mark.reason !== null && <p class="hint">{mark.reason}</p>}
      <Problem text={mutation.problem} />
    </section>
  );
}
