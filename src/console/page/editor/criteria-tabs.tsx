/** The criteria of a search and of its alternatives. The tabs appear with the first alternative. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { Problem } from '../elements.tsx';
import { useWords } from '../words/language.ts';
import { AdvertCriteria, HomeFields, MoneyFields } from './criteria-fields.tsx';
import {
  ALTERNATIVES_MAX,
  bodyOf,
  type ChangeDraft,
  criteriaOf,
  type Draft,
  NEW_ALTERNATIVE,
  NEW_DRAFT,
  sentPosition,
  wordCriteriaOf,
} from './draft.ts';
import type { FieldsProps } from './member-field.tsx';
import { PlaceFields } from './place-fields.tsx';
import { usePreview } from './preview.tsx';
import type { Violations } from './violations.ts';
import { WordFields } from './word-fields.tsx';

interface TabsProps extends FieldsProps {
  readonly isNew: boolean;
  /** 0: the search's own criteria; otherwise the number of the alternative. */
  readonly tab: number;
  /** The search's own criteria, with those of the tab's alternative. */
  readonly combined: Draft;
  setTab(tab: number): void;
}

const PANEL = 'criteria';

export function CriteriaTabs({ isNew, tab, combined, setTab, ...fields }: TabsProps) {
  const { draft, change, violations } = fields;
  const words = useWords();
  const count = draft.alternatives.length;
  const { section, go } = useFocusedTab(setTab);
  const changeTab = useTabChange(fields, tab);
  const alternative = draft.alternatives[tab - 1];
  const within = alternative === undefined ? violations : violationsInTab(fields, tab);
  const add = (): void => {
    change({ alternatives: [...draft.alternatives, NEW_ALTERNATIVE] });
    go(count + 1);
  };
  const remove = (): void => {
    change({ alternatives: draft.alternatives.toSpliced(tab - 1, 1) });
    go(tab - 1);
  };
  return (
    <section ref={section}>
      {count > 0 && <TabBar {...fields} tab={tab} setTab={go} />}
      <Problem text={violations.ofWhole('alternatives') ?? null} />
      <div {...(count > 0 && { id: PANEL, role: 'tabpanel', 'aria-labelledby': tabId(tab) })}>
        {count > 0 && <p class="hint">{alternative === undefined ? words.everyHint : words.alternativeHint}</p>}
        {alternative !== undefined && within.others.map((text) => <Problem key={text} text={text} />)}
        <Groups
          key={`${tab}/${count}`}
          draft={alternative ?? draft}
          change={alternative === undefined ? change : changeTab}
          violations={within}
          {...{ isNew, combined }}
          isAlternative={alternative !== undefined}
        />
      </div>
      <div class="chips">
        {count < ALTERNATIVES_MAX && (
          <button type="button" class="add-alternative" onClick={add}>
            {words.addAlternative}
          </button>
        )}
        {alternative !== undefined && (
          <button type="button" class="quiet danger" onClick={remove}>
            {words.removeAlternative(tab)}
          </button>
        )}
      </div>
    </section>
  );
}

interface GroupsProps extends FieldsProps {
  readonly isNew: boolean;
  readonly isAlternative: boolean;
  readonly combined: Draft;
}

function Groups({ isNew, isAlternative, combined, ...fields }: GroupsProps) {
  const wordCriteria = wordCriteriaOf(fields.draft);
  const { preview } = usePreview(wordCriteria);
  return (
    <>
      <PlaceFields {...fields} isAlternative={isAlternative} />
      <HomeFields {...fields} isNew={isNew && !isAlternative} />
      <MoneyFields {...fields} isAlternative={isAlternative} combined={combined} />
      <WordFields {...fields} found={wordCriteria && preview}>
        <AdvertCriteria {...fields} isAlternative={isAlternative} />
      </WordFields>
    </>
  );
}

/** `go` moves the focus to the chosen tab, or, if no alternative is left, to the button that adds one. */
function useFocusedTab(setTab: (tab: number) => void) {
  const section = useRef<HTMLElement>(null);
  const isMoved = useRef(false);
  // Not `useEffect`: an effect of the former rendering could run after the move, and find the former tabs.
  useLayoutEffect(() => {
    if (!isMoved.current) return;
    isMoved.current = false;
    const [chosen, adding] = ['[aria-selected=true]', '.add-alternative'].map((selector) =>
      section.current?.querySelector<HTMLElement>(selector),
    );
    (chosen ?? adding)?.focus();
  });
  const go = (next: number): void => {
    isMoved.current = true;
    setTab(next);
  };
  return { section, go };
}

/** Changes the alternative of the tab. Handles on the map may call the function of an earlier rendering. */
function useTabChange({ draft: { alternatives }, change }: FieldsProps, tab: number): ChangeDraft {
  const present = useRef(alternatives);
  present.current = alternatives;
  return (changed) => {
    const alternative = present.current[tab - 1];
    if (alternative === undefined) return;
    present.current = present.current.with(tab - 1, { ...alternative, ...changed });
    change({ alternatives: present.current });
  };
}

function violationsInTab({ draft, violations }: Pick<FieldsProps, 'draft' | 'violations'>, tab: number): Violations {
  const isRight = violations.of('alternatives') === undefined;
  return violations.within(`alternatives[${isRight ? -1 : sentPosition(draft, tab - 1)}]`);
}

function tabId(tab: number): string {
  return `${PANEL}-${tab}`;
}

const SEARCH_CRITERIA = Object.keys(criteriaOf(bodyOf(NEW_DRAFT))).filter((name) => name !== 'alternatives');

type TabBarProps = FieldsProps & Pick<TabsProps, 'tab' | 'setTab'>;

function TabBar({ tab, setTab, ...fields }: TabBarProps) {
  const words = useWords();
  const last = fields.draft.alternatives.length;
  const isWrong = (at: number): boolean =>
    at === 0 ? fields.violations.ofAny(SEARCH_CRITERIA) : !violationsInTab(fields, at).isEmpty;
  const press = (event: KeyboardEvent): void => {
    const next = { ArrowLeft: tab === 0 ? last : tab - 1, ArrowRight: tab === last ? 0 : tab + 1, Home: 0, End: last };
    const chosen = (next as Readonly<Record<string, number>>)[event.key];
    if (chosen === undefined) return;
    event.preventDefault();
    setTab(chosen);
  };
  return (
    <div class="chips" role="tablist" aria-label={words.members.alternatives} onKeyDown={press}>
      {Array.from({ length: last + 1 }, (_, at) => (
        <button
          key={at}
          id={tabId(at)}
          type="button"
          class="chip"
          role="tab"
          aria-selected={at === tab}
          aria-controls={PANEL}
          tabIndex={at === tab ? 0 : -1}
          onClick={() => setTab(at)}
        >
          {at === 0 ? words.everyProperty : words.orNumber(at)}
          {isWrong(at) && <span class="violation">{` ${words.toCorrect}`}</span>}
        </button>
      ))}
    </div>
  );
}
