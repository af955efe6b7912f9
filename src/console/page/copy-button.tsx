/** Copies what stands beside it; where the browser lets nobody copy (a page without TLS), it selects it instead. */

import { type RefObject } from 'preact';
import { useState } from 'preact/hooks';
import { useWords } from './words/language.ts';

export interface CopyButtonProps {
  readonly label: string;
  readonly text: string;
  /** What has the text. */
  readonly beside: RefObject<HTMLElement | null>;
}

export function CopyButton({ label, text, beside }: CopyButtonProps) {
  const words = useWords();
  const [done, setDone] = useState<{ readonly text: string; readonly said: 'copied' | 'selected' } | null>(null);
  const select = (): void => {
    if (beside.current === null) return;
    getSelection()?.selectAllChildren(beside.current);
    setDone({ text, said: 'selected' });
  };
  const copy = (): void => {
    // Absent without TLS, whatever its type says.
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
