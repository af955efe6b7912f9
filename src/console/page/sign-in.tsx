/** The sign-in: a typed API key is tried before anything else is shown. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { useMutation } from './answer.ts';
import { Field } from './elements.tsx';
import { useValue } from './observable.ts';
import { createRest, Refusal } from './rest.ts';
import { chooseLanguage, language, useWords } from './words/language.ts';

export interface SignInProps {
  /** True if the previous key is unknown or revoked. */
  readonly isRefused: boolean;
  onKey(key: string): void;
}

export function SignIn({ isRefused, onKey }: SignInProps) {
  const words = useWords();
  const [typed, setTyped] = useState('');
  const [isWrong, setWrong] = useState(isRefused);
  const mutation = useMutation();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), [isWrong]);
  const other = useValue(language) === 'fr' ? 'en' : 'fr';
  const enter = (event: Event): void => {
    event.preventDefault();
    const key = typed.trim();
    if (key === '') return;
    mutation.run(async () => {
      setWrong(false);
      const isKnown = await tryKey(key);
      if (isKnown) onKey(key);
      else setWrong(true);
    });
  };
  const violation = isWrong ? words.wrongKey : (mutation.problem ?? undefined);
  return (
    <main class="door">
      <form onSubmit={enter}>
        <h1>
          <span class="lamp" data-connection="live" aria-hidden="true" />
          Vigie
        </h1>
        <p>{words.welcome}</p>
        <Field label={words.apiKey} hint={words.apiKeyHint} violation={violation}>
          {(ids) => (
            <input
              {...ids}
              ref={field}
              type="password"
              name="key"
              autocomplete="off"
              spellcheck={false}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="actions">
          <button type="button" class="quiet" lang={other} onClick={() => chooseLanguage(other)}>
            {words.otherLanguage}
          </button>
          <button type="submit" class="primary" disabled={mutation.isUnderWay}>
            {words.signIn}
          </button>
        </div>
        <p class="sources">
          <small>{words.sources}</small>
        </p>
      </form>
    </main>
  );
}

/** A key has only printable ASCII characters. `fetch` would throw for some others in a header. */
async function tryKey(key: string): Promise<boolean> {
  if (!/^[\x21-\x7e]+$/.test(key)) return false;
  try {
    await createRest(key, () => undefined).read('/users', { itemsPerPage: 1 });
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return false;
    throw error;
  }
}
