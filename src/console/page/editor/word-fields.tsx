/**
 * Words that a text must or must not contain, each with its options. A sentence below states what they mean, and how
 * many properties have such texts.
 */

import type { ComponentChildren } from 'preact';
import { RemoveButton, Select } from '../controls.tsx';
import type { PreviewDocument } from '../documents.ts';
import { Violation } from '../elements.tsx';
import { useWords, type Words } from '../words/language.ts';
import type { Word } from './draft.ts';
import type { FieldsProps } from './member-field.tsx';

const NEW_WORD: Word = { word: '', includes: true, strict: false };

interface WordFieldsProps extends FieldsProps {
  /** The properties that these words alone find; null while unknown. */
  readonly found: PreviewDocument | null;
  readonly children: ComponentChildren;
}

export function WordFields({ draft, change, violations, found, children }: WordFieldsProps) {
  const words = useWords();
  const { groups } = draft;
  const set = (group: number, list: readonly Word[]): void => {
    change({ groups: list.length === 0 ? groups.toSpliced(group, 1) : groups.with(group, list) });
  };
  return (
    <fieldset>
      <legend>{words.wordsLegend}</legend>
      {groups.map((group, at) => (
        <div key={at} class="group" role="group" aria-label={words.alternative(at + 1)}>
          {at > 0 && <p class="or">{words.or}</p>}
          {group.map((entry, index) => (
            <WordField
              key={index}
              entry={entry}
              onChange={(next) => set(at, next === null ? group.toSpliced(index, 1) : group.with(index, next))}
            />
          ))}
          <button type="button" class="quiet" onClick={() => set(at, [...group, NEW_WORD])}>
            {words.andWord}
          </button>
        </div>
      ))}
      <button type="button" onClick={() => change({ groups: [...groups, [NEW_WORD]] })}>
        {groups.length === 0 ? words.addWord : words.orWord}
      </button>
      <p class="sentence">
        {sentenceOf(groups, words)}{' '}
        {found !== null && (
          <span class="word-hits" role="status">
            {words.wordHits(`${found.estimated ? `${words.about} ` : ''}${words.number(found.satisfiedNow)}`)}
          </span>
        )}
      </p>
      <Violation text={violations.of('expressions')} />
      {children}
    </fieldset>
  );
}

function WordField({ entry, onChange }: { readonly entry: Word; onChange(entry: Word | null): void }) {
  const words = useWords();
  return (
    <div class="word">
      <Select
        aria-label={words.presence}
        value={String(entry.includes)}
        choices={Object.entries({ true: words.contains, false: words.containsNot })}
        onChoose={(value) => onChange({ ...entry, includes: value === 'true' })}
      />
      <input
        type="text"
        aria-label={words.word}
        value={entry.word}
        onInput={({ currentTarget }) => onChange({ ...entry, word: currentTarget.value })}
      />
      <Select
        aria-label={words.form}
        value={String(entry.strict)}
        choices={Object.entries({ false: words.anyForm, true: words.exactPhrase })}
        onChoose={(value) => onChange({ ...entry, strict: value === 'true' })}
      />
      <RemoveButton what={entry.word || words.word} onRemove={() => onChange(null)} />
    </div>
  );
}

/** `The text contains “sea view” exactly and does not contain “works”, or contains “terrace” in any form.` */
function sentenceOf(groups: readonly (readonly Word[])[], words: Words): string {
  const stated = groups
    .map((group) => group.filter(({ word }) => word.trim() !== ''))
    .filter((group) => group.length > 0)
    .map((group) =>
      group.map(({ word, includes, strict }) => words.wordSentence(word, includes, strict)).join(` ${words.and} `),
    );
  return stated.length === 0 ? words.noWord : words.textSentence(stated.join(`, ${words.or} `));
}
