/**
 * Parts that several views share, such as a field with its violation, a notice, or a button that asks for confirmation.
 */

import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useWords } from './words/language.ts';

export interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** The violation that the service has reported. */
  readonly violation?: string | undefined;
  readonly children: (ids: {
    readonly id: string;
    readonly 'aria-describedby'?: string;
    readonly 'aria-invalid'?: 'true';
  }) => JSX.Element;
}

/** A label, its control and its violation; a screen reader announces all three. */
export function Field({ label, hint, violation, children }: FieldProps) {
  const id = useId();
  const described = [hint === undefined ? '' : `${id}-hint`, violation === undefined ? '' : `${id}-wrong`]
    .filter(Boolean)
    .join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described === '' ? {} : { 'aria-describedby': described }),
        ...(violation === undefined ? {} : { 'aria-invalid': 'true' as const }),
      })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <Violation id={`${id}-wrong`} text={violation} />
    </div>
  );
}

export function Violation({ id, text }: { readonly id?: string; readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p class="violation" id={id}>
      {text}
    </p>
  );
}

export interface FoldProps {
  readonly title: string;
  /** True if the reader needs a field in it, such as one with a violation. The part opens when this becomes true. */
  readonly isNeeded: boolean;
  readonly children: ComponentChildren;
}

/** An optional part of a form, closed at first unless it is needed. */
export function Fold({ title, isNeeded, children }: FoldProps) {
  const fold = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isNeeded && fold.current !== null) fold.current.open = true;
  }, [isNeeded]);
  return (
    <details ref={fold}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

/** Drawn icons, because not every font has these characters. */
const PATHS = {
  yes: 'M3 8.5l3.5 3.5L13 4.5',
  no: 'M4 4l8 8M12 4l-8 8',
  back: 'M14 8H3M7 4L3 8l4 4',
};

export function Icon({ name }: { readonly name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** An error, announced at once by screen readers. */
export function Problem({ text, again }: { readonly text: string | null; readonly again?: () => void }) {
  const words = useWords();
  if (text === null) return null;
  return (
    <p class="problem" role="alert">
      {text}
      {again !== undefined && (
        <button type="button" class="quiet" onClick={again}>
          {words.again}
        </button>
      )}
    </p>
  );
}

export function Loading({ isShown }: { readonly isShown: boolean }) {
  const words = useWords();
  return (
    <p class="loading" role="status" hidden={!isShown}>
      {isShown ? words.loading : ''}
    </p>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

interface ConfirmedButtonProps {
  readonly label: string;
  readonly question: string;
  readonly class: string;
  readonly disabled: boolean;
  onConfirm(): void;
}

/** Asks before its action, in the browser's own dialog: it keeps the focus and returns it, and Escape closes it. */
export function ConfirmedButton({ label, question, onConfirm, ...button }: ConfirmedButtonProps) {
  const words = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const close = (): void => dialog.current?.close();
  const confirm = (): void => {
    close();
    onConfirm();
  };
  return (
    <>
      <button type="button" {...button} onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={title}>
        <p id={title}>{question}</p>
        <div class="actions">
          <button type="button" onClick={close}>
            {words.cancel}
          </button>
          <button type="button" class="danger" onClick={confirm}>
            {label}
          </button>
        </div>
      </dialog>
    </>
  );
}

interface CopyButtonProps {
  readonly label: string;
  readonly text: string;
  /** The element with the text. */
  readonly beside: RefObject<HTMLElement | null>;
}

/** Copies `text`. If the browser forbids that, as over plain http, a click selects the content of `beside`. */
export function CopyButton({ label, text, beside }: CopyButtonProps) {
  const words = useWords();
  const [done, setDone] = useState<{ readonly text: string; readonly said: 'copied' | 'selected' } | null>(null);
  const select = (): void => {
    if (beside.current === null) return;
    getSelection()?.selectAllChildren(beside.current);
    setDone({ text, said: 'selected' });
  };
  const copy = (): void => {
    // Contrary to its type, the clipboard may be absent over plain http.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard === undefined) return select();
    clipboard.writeText(text).then(() => setDone({ text, said: 'copied' }), select);
  };
  return (
    <>
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span class="hint" role="status">
        {done?.text === text ? words[done.said] : ''}
      </span>
    </>
  );
}
