/** Creates or edits a search: every criterion of the interface, with a preview of what it would find. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useAnswer, useMutation } from '../answer.ts';
import { idOf, type SearchDocument } from '../documents.ts';
import { ConfirmedButton, Icon, Loading, Problem } from '../elements.tsx';
import type { Model } from '../model.ts';
import { useModel } from '../model-context.ts';
import { outlookOf } from '../outlook.tsx';
import { randomId } from '../random-id.ts';
import { Refusal, type Violation } from '../rest.ts';
import { hrefOf, open } from '../route.ts';
import { useSharedMap } from '../shared-map.ts';
import { useWords, type Words } from '../words/language.ts';
import { CriteriaTabs } from './criteria-tabs.tsx';
import {
  type Body,
  bodyOf,
  type ChangeDraft,
  ContextError,
  changesOf,
  criteriaOf,
  type Draft,
  differingMembers,
  draftOf,
  NEW_ALTERNATIVE,
  sentPosition,
} from './draft.ts';
import { MemberField } from './member-field.tsx';
import { memberName } from './member-text.ts';
import { destinationsOf, NotificationFields } from './notification-fields.tsx';
import { Preview, usePreview } from './preview.tsx';
import { Sketch } from './sketch.tsx';
import { consumeMade, keepMade, readStored, removeStored, type StoredSearch, saveStored } from './stored-search.ts';
import { useUnsaved, type Writing } from './unsaved.ts';
import { violationsOf } from './violations.ts';

/** Maximum properties of the preview that the map shows. */
const PLACES = 2_000;

/** `id`: `new`, or the id of a search that is read before it is changed. */
export function Editor({ id }: { readonly id: string }) {
  const model = useModel();
  const read = useAnswer(
    async (signal) => (id === 'new' ? null : readStored(model.rest, `/searches/${id}`, signal)),
    [id],
  );
  const isReady = id === 'new' || read.value !== null;
  return (
    <>
      {!isReady && <Back />}
      <Loading isShown={!isReady && read.isLoading} />
      <Problem text={read.problem} again={read.again} />
      {isReady && <Form key={id} id={id} read={read.value} />}
    </>
  );
}

function Form({ id, read }: { readonly id: string; readonly read: StoredSearch | null }) {
  const words = useWords();
  const [stored, setStored] = useState(read);
  const saved = stored?.search ?? null;
  const writing = useUnsaved(id, saved);
  const { draft } = writing;
  const sharedMap = useSharedMap();
  const [refused, setRefused] = useState<readonly Violation[]>([]);
  const change = useCallback<ChangeDraft>(
    (changed) => {
      setRefused([]);
      writing.change(changed);
    },
    [writing.change],
  );
  const body = useBody(draft);
  const preview = usePreview(body === null ? null : criteriaOf(body), PLACES);
  const context = body === null ? [{ propertyPath: 'context', message: words.notJson }] : [];
  const all = [
    ...refused,
    ...context,
    ...preview.violations.filter(({ propertyPath }) => !refused.some((one) => one.propertyPath === propertyPath)),
  ];
  const violations = violationsOf(all, Object.keys(draft).concat('geoShapes', 'excludedGeoShapes', 'expressions'));
  const fields = { draft, change, violations };
  const [chosenTab, setTab] = useState(0);
  // The last alternative may have been removed.
  const tab = Math.min(chosenTab, draft.alternatives.length);
  const combined = { ...draft, ...changesOf(NEW_ALTERNATIVE, draft.alternatives[tab - 1] ?? NEW_ALTERNATIVE) };
  const refuse = (list: readonly Violation[]): void => {
    setRefused(list);
    const tabs = list.map((one) => tabOf(one, draft));
    if (!tabs.includes(tab)) setTab(tabs[0] ?? tab);
  };
  useFirstWrong(refused);
  return (
    <div class="editor">
      <Head saved={saved} />
      <MemberField {...fields} member="title" placeholder={words.titleExample} />
      <Preview state={preview} />
      {sharedMap !== null && <Sketch key={tab} sharedMap={sharedMap} draft={combined} preview={preview.preview} />}
      <CriteriaTabs {...fields} {...{ tab, setTab, combined }} isNew={saved === null} />
      <NotificationFields {...fields} search={destinationsOf(draft, saved)} />
      {violations.others.map((text) => (
        <Problem key={text} text={text} />
      ))}
      {refused.length > 0 && <Problem text={words.violationsAbove(refused.length)} />}
      <SaveBar stored={stored} body={body} writing={writing} onSaved={setStored} onRefused={refuse} />
    </div>
  );
}

/** The tab that shows the field of a violation. */
function tabOf({ propertyPath }: Violation, draft: Draft): number {
  const [, position] = /^alternatives\[(\d+)\]/.exec(propertyPath) ?? [];
  return 1 + draft.alternatives.findIndex((_, at) => String(sentPosition(draft, at)) === position);
}

function Back() {
  const words = useWords();
  return (
    <a class="back" href={hrefOf('searches')}>
      <Icon name="back" /> {words.views.searches}
    </a>
  );
}

function Head({ saved }: { readonly saved: SearchDocument | null }) {
  const words = useWords();
  return (
    <>
      <Back />
      <h1>{saved === null ? words.newSearch : saved.title}</h1>
      {saved !== null && (
        <p>
          <a href={hrefOf('deliveries', idOf(saved['@id']))}>{words.deliveriesOf}</a>
        </p>
      )}
    </>
  );
}

/** Null if the context is not valid JSON. */
function useBody(draft: Draft): Body | null {
  return useMemo(() => {
    try {
      return bodyOf(draft);
    } catch (error) {
      if (error instanceof ContextError) return null;
      throw error;
    }
  }, [draft]);
}

/** Moves the focus to the first field with a violation. */
function useFirstWrong(refused: readonly Violation[]): void {
  useEffect(() => {
    if (refused.length === 0) return;
    const wrong = document.querySelector<HTMLElement>('.editor [aria-invalid=true]');
    // An element in a closed part cannot take the focus.
    wrong?.closest('details')?.setAttribute('open', '');
    wrong?.focus();
  }, [refused]);
}

interface SaveBarProps {
  readonly stored: StoredSearch | null;
  readonly body: Body | null;
  readonly writing: Writing;
  onSaved(stored: StoredSearch): void;
  onRefused(violations: readonly Violation[]): void;
}

/** The maximum that the service accepts. */
const TITLE_LENGTH_MAX = 255;

/** The actions of the bar's buttons; violations are shown at their fields. */
function useSaving(props: SaveBarProps) {
  const { stored, body, writing, onSaved, onRefused } = props;
  const words = useWords();
  const model = useModel();
  const title = (body?.title ?? '') as string;
  const mutation = useMutation();
  const newKey = useIdempotencyKey();
  const saved = stored?.search ?? null;
  const [isDone, setDone] = useState(() => consumeMade(saved?.['@id']));
  useEffect(() => {
    if (writing.isChanged) setDone(false);
  }, [writing.isChanged]);
  const send = (work: () => Promise<void>): void =>
    mutation.run(() =>
      work().catch((error: unknown) => {
        if (!(error instanceof Refusal) || error.violations.length === 0) throw error;
        onRefused(error.violations);
      }),
    );
  const create = async (made: Body): Promise<void> => {
    const options = { body: made, headers: { 'Idempotency-Key': newKey(made) } };
    const { body: search } = await model.rest.ask<SearchDocument>('POST', '/searches', options);
    model.putSearch(search);
    writing.discard();
    keepMade(search['@id']);
    open('searches', idOf(search['@id']));
  };
  const change = async (before: StoredSearch, draft: Draft): Promise<void> => {
    const { isRefused, present } = await saveStored(model.rest, before, draft);
    model.putSearch(present.search);
    onSaved(present);
    if (isRefused)
      throw new Refusal(412, { detail: words.changedMeanwhile(changedNames(before, present, words)) }, null);
    writing.discard();
    setDone(true);
  };
  return {
    mutation,
    isSaved: isDone && !writing.isChanged,
    save: () =>
      send(async () => {
        if (body === null) return;
        await (stored === null ? create(body) : change(stored, writing.draft));
      }),
    copy: () =>
      send(() =>
        create({ ...body, title: words.copyOf(title).slice(0, TITLE_LENGTH_MAX), notificationEnabled: false }),
      ),
    remove: () => send(() => removeSeen(props, model, words)),
  };
}

/** The names of members that another user has changed. The reader's unsaved changes are not among them. */
function changedNames(before: StoredSearch, present: StoredSearch, words: Words): string {
  const changed = differingMembers(draftOf(before.search), draftOf(present.search));
  return changed.map((member) => memberName(member, words)).join(', ');
}

/** Deletes only a version that the reader has seen. Another version is shown first. */
async function removeSeen({ stored, writing, onSaved }: SaveBarProps, model: Model, words: Words): Promise<void> {
  if (stored === null) return;
  const { isRefused, present } = await removeStored(model.rest, stored);
  if (isRefused) {
    onSaved(present);
    throw new Refusal(412, { detail: words.changedUnread }, null);
  }
  model.dropSearch(stored.search['@id']);
  writing.discard();
  open('searches');
}

/** Returns the same key for the same body, so that retrying without an answer creates only one search. */
function useIdempotencyKey(): (body: Body) => string {
  const last = useRef({ text: '', key: '' });
  return (body) => {
    const text = JSON.stringify(body);
    if (last.current.text !== text) last.current = { text, key: randomId() };
    return last.current.key;
  };
}

/** Adds the reason if nothing will be notified. */
function savedWords(saved: SearchDocument, words: Words): string {
  const { will, willNot } = outlookOf(saved, words);
  return will === null && willNot !== null ? `${words.saved} ${willNot}` : words.saved;
}

function SaveBar(props: SaveBarProps) {
  const { stored, body, writing } = props;
  const saved = stored?.search ?? null;
  const words = useWords();
  const { mutation, isSaved, save, copy, remove } = useSaving(props);
  return (
    <div class="save-bar">
      <Problem text={mutation.problem} />
      <span role="status">{isSaved && saved !== null ? savedWords(saved, words) : ''}</span>
      {saved !== null && (
        <>
          <ConfirmedButton
            label={words.remove}
            question={words.removeQuestion(saved.title)}
            class="quiet danger"
            disabled={mutation.isUnderWay}
            onConfirm={remove}
          />
          <button type="button" disabled={mutation.isUnderWay || body === null} onClick={copy}>
            {words.copy}
          </button>
        </>
      )}
      {writing.isChanged && (
        <button type="button" class="quiet" disabled={mutation.isUnderWay} onClick={writing.discard}>
          {words.discard}
        </button>
      )}
      <button type="button" class="primary" disabled={mutation.isUnderWay || body === null} onClick={save}>
        {words.save}
      </button>
    </div>
  );
}
