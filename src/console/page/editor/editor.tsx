/** Creates or edits a search: every criterion of the interface, with a preview of what it would find. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Mutation, useAnswer, useMutation } from '../answer.ts';
import { TextField } from '../controls.tsx';
import { idOf, type SearchDocument } from '../documents.ts';
import { Confirmation, Icon, Loading, Problem } from '../elements.tsx';
import type { Model } from '../model.ts';
import { useModel } from '../model-context.ts';
import { outlookOf } from '../outlook.tsx';
import { randomId } from '../random-id.ts';
import { Refusal, type Violation } from '../rest.ts';
import { hrefOf, open } from '../route.ts';
import { useSharedMap } from '../shared-map.ts';
import { useWords, type Words } from '../words/language.ts';
import { AdvertCriteria, HomeFields, MoneyFields } from './criteria-fields.tsx';
import {
  type Body,
  bodyOf,
  type ChangeDraft,
  ContextError,
  criteriaOf,
  type Draft,
  differingMembers,
  draftOf,
  wordCriteriaOf,
} from './draft.ts';
import { type HeldSearch, keepMade, readHeld, removeHeld, saveHeld, takeMade } from './held-search.ts';
import { memberName } from './member-text.ts';
import { destinationsOf, NotificationFields } from './notification-fields.tsx';
import { PlaceFields } from './place-fields.tsx';
import { Preview, usePreview } from './preview.tsx';
import { Sketch } from './sketch.tsx';
import { useUnsaved, type Writing } from './unsaved.ts';
import { violationsOf } from './violations.ts';
import { WordFields } from './word-fields.tsx';

/** The map shows this many of the properties that the preview counts. */
const PLACES = 2_000;

/** `new`, or the id of a search that is read before it is changed. */
export function Editor({ id }: { readonly id: string }) {
  const model = useModel();
  const read = useAnswer(
    async (signal) => (id === 'new' ? null : readHeld(model.rest, `/searches/${id}`, signal)),
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

function Form({ id, read }: { readonly id: string; readonly read: HeldSearch | null }) {
  const words = useWords();
  const [held, setHeld] = useState(read);
  const saved = held?.search ?? null;
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
  const wordCriteria = body === null ? null : wordCriteriaOf(body);
  const wordPreview = usePreview(wordCriteria);
  const context = body === null ? [{ propertyPath: 'context', message: words.notJson }] : [];
  const all = [
    ...refused,
    ...context,
    ...preview.violations.filter(({ propertyPath }) => !refused.some((one) => one.propertyPath === propertyPath)),
  ];
  const violations = violationsOf(all, Object.keys(draft).concat('geoShapes', 'expressions'));
  const fields = { draft, change, violations };
  useFirstWrong(refused);
  return (
    <div class="editor">
      <Head saved={saved} />
      <TextField
        label={words.members.title}
        violation={violations.of('title')}
        name="title"
        value={draft.title}
        placeholder={words.titleExample}
        onText={(title) => change({ title })}
      />
      <Preview state={preview} />
      {sharedMap !== null && <Sketch sharedMap={sharedMap} draft={draft} preview={preview.preview} />}
      <PlaceFields {...fields} />
      <HomeFields {...fields} isNew={saved === null} />
      <MoneyFields {...fields} />
      <WordFields {...fields} found={wordCriteria && wordPreview.preview}>
        <AdvertCriteria {...fields} />
      </WordFields>
      <NotificationFields {...fields} search={destinationsOf(draft, saved)} />
      {violations.others.map((text) => (
        <Problem key={text} text={text} />
      ))}
      {refused.length > 0 && <Problem text={words.violationsAbove(refused.length)} />}
      <SaveBar held={held} body={body} writing={writing} onSaved={setHeld} onRefused={setRefused} />
    </div>
  );
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

/** Null while the context is no JSON. */
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

/** The first field with a violation gets the focus. */
function useFirstWrong(refused: readonly Violation[]): void {
  useEffect(() => {
    if (refused.length === 0) return;
    const wrong = document.querySelector<HTMLElement>('.editor [aria-invalid=true]');
    // An element in a closed part takes no focus.
    wrong?.closest('details')?.setAttribute('open', '');
    wrong?.focus();
  }, [refused]);
}

interface SaveBarProps {
  readonly held: HeldSearch | null;
  readonly body: Body | null;
  readonly writing: Writing;
  onSaved(held: HeldSearch): void;
  onRefused(violations: readonly Violation[]): void;
}

/** The search as the service has it. */
const TITLE_LENGTH_MAX = 255;

interface Saving {
  readonly mutation: Mutation;
  readonly isSaved: boolean;
  save(): void;
  copy(): void;
  remove(): void;
}

/** The actions of the bar's buttons; violations go to their fields. */
function useSaving(props: SaveBarProps): Saving {
  const { held, body, writing, onSaved, onRefused } = props;
  const words = useWords();
  const model = useModel();
  const title = (body?.title ?? '') as string;
  const mutation = useMutation();
  const newKey = useIdempotencyKey();
  const saved = held?.search ?? null;
  const [isDone, setDone] = useState(() => takeMade(saved?.['@id']));
  useEffect(() => {
    if (writing.isChanged) setDone(false);
  }, [writing.isChanged]);
  const send = (work: () => Promise<void>): void => mutation.run(() => reporting(work, onRefused));
  const create = async (made: Body): Promise<void> => {
    const options = { body: made, headers: { 'Idempotency-Key': newKey(made) } };
    const { body: search } = await model.rest.ask<SearchDocument>('POST', '/searches', options);
    model.putSearch(search);
    writing.discard();
    keepMade(search['@id']);
    open('searches', idOf(search['@id']));
  };
  const change = async (before: HeldSearch, draft: Draft): Promise<void> => {
    const { isRefused, present } = await saveHeld(model.rest, before, draft);
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
        await (held === null ? create(body) : change(held, writing.draft));
      }),
    copy: () =>
      send(() =>
        create({ ...body, title: words.copyOf(title).slice(0, TITLE_LENGTH_MAX), notificationEnabled: false }),
      ),
    remove: () => send(() => removeSeen(props, model, words)),
  };
}

/** What somebody else has changed; the reader's own changes stay on top of it. */
function changedNames(before: HeldSearch, present: HeldSearch, words: Words): string {
  const changed = differingMembers(draftOf(before.search), draftOf(present.search));
  return changed.map((member) => memberName(member, words)).join(', ');
}

/** Overwrites only a version that the reader has seen: another one is shown first. */
async function removeSeen({ held, writing, onSaved }: SaveBarProps, model: Model, words: Words): Promise<void> {
  if (held === null) return;
  const { isRefused, present } = await removeHeld(model.rest, held);
  if (isRefused) {
    onSaved(present);
    throw new Refusal(412, { detail: words.changedUnread }, null);
  }
  model.dropSearch(held.search['@id']);
  writing.discard();
  open('searches');
}

/** Violations of a member are shown at its field. */
async function reporting(work: () => Promise<void>, onRefused: SaveBarProps['onRefused']): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal) || error.violations.length === 0) throw error;
    onRefused(error.violations);
  }
}

/** The same key for the same body: a creation that is retried without an answer happens once. */
function useIdempotencyKey(): (body: Body) => string {
  const last = useRef({ text: '', key: '' });
  return (body) => {
    const text = JSON.stringify(body);
    if (last.current.text !== text) last.current = { text, key: randomId() };
    return last.current.key;
  };
}

/** Says so when nothing will be notified. */
function savedWords(saved: SearchDocument, words: Words): string {
  const { will, willNot } = outlookOf(saved, words);
  return will === null && willNot !== null ? `${words.saved} ${willNot}` : words.saved;
}

function SaveBar(props: SaveBarProps) {
  const { held, body, writing } = props;
  const saved = held?.search ?? null;
  const words = useWords();
  const { mutation, isSaved, save, copy, remove } = useSaving(props);
  const [isAsking, setAsking] = useState(false);
  return (
    <div class="save-bar">
      <Problem text={mutation.problem} />
      <span role="status">{isSaved && saved !== null ? savedWords(saved, words) : ''}</span>
      {saved !== null && (
        <>
          <button type="button" class="quiet danger" disabled={mutation.isUnderWay} onClick={() => setAsking(true)}>
            {words.remove}
          </button>
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
      {isAsking && (
        <Confirmation
          question={words.removeQuestion(saved?.title ?? '')}
          confirm={words.remove}
          onConfirm={() => {
            setAsking(false);
            remove();
          }}
          onLeave={() => setAsking(false)}
        />
      )}
    </div>
  );
}
