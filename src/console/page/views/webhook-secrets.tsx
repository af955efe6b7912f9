/** The client's own secrets, which sign every webhook beside the token of its search. A value is shown once. */

import { useRef, useState } from 'preact/hooks';
import { useAnswer, useMutation } from '../answer.ts';
import type { Collection, SecretDocument } from '../documents.ts';
import { Confirmation, CopyButton, Field, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useFormats } from '../words/formats.ts';
import { useWords } from '../words/language.ts';

export function WebhookSecrets() {
  const words = useWords();
  const formats = useFormats();
  const { rest } = useModel();
  const mutation = useMutation();
  const [overlapHours, setOverlapHours] = useState(24);
  const [made, setMade] = useState<SecretDocument | null>(null);
  const [leaving, setLeaving] = useState<SecretDocument | null>(null);
  const read = useAnswer((signal) => rest.read<Collection<SecretDocument>>('/webhook-secrets', {}, signal), []);
  const list = read.value?.['hydra:member'] ?? [];
  const make = (): void =>
    mutation.run(async () => {
      setMade((await rest.ask<SecretDocument>('POST', '/webhook-secrets', { body: { overlapHours } })).body);
      read.again();
    });
  const remove = (): void =>
    mutation.run(async () => {
      await rest.ask('DELETE', leaving?.['@id'] ?? '');
      if (made?.['@id'] === leaving?.['@id']) setMade(null);
      setLeaving(null);
      read.again();
    });
  return (
    <section class="card" aria-labelledby="secrets">
      <h2 id="secrets">{words.secrets}</h2>
      <p class="hint">{words.secretsHint}</p>
      <Problem text={mutation.problem ?? read.problem} />
      {made !== null && <Made secret={made.secret ?? ''} />}
      <ul class="plain">
        {list.map((secret) => (
          <li key={secret['@id']} class="line">
            <code>{`whsec_…${secret.hint}`}</code>
            <span class="hint">
              {words.madeOn(formats.moment(secret.createdAt))}
              {secret.expiresAt !== null && ` · ${words.expires(formats.moment(secret.expiresAt))}`}
            </span>
            <button type="button" class="quiet danger" onClick={() => setLeaving(secret)}>
              {words.remove}
            </button>
          </li>
        ))}
      </ul>
      <div class="line">
        {list.length > 0 && <Overlap hours={overlapHours} onChange={setOverlapHours} />}
        <button type="button" disabled={mutation.isUnderWay} onClick={make}>
          {words.makeSecret}
        </button>
      </div>
      {leaving !== null && (
        <Confirmation
          question={words.removeSecretQuestion(leaving.hint)}
          confirm={words.remove}
          onConfirm={remove}
          onLeave={() => setLeaving(null)}
        />
      )}
    </section>
  );
}

function Made({ secret }: { readonly secret: string }) {
  const words = useWords();
  const shown = useRef<HTMLElement>(null);
  return (
    <div class="outcome" role="status">
      <p>{words.secretOnce}</p>
      <code ref={shown} class="secret">
        {secret}
      </code>
      <CopyButton label={words.copySecret} text={secret} beside={shown} />
    </div>
  );
}

/** The time for receivers to install a new secret. */
const OVERLAPS_HOURS = [0, 1, 24, 168, 720] as const;

function Overlap({ hours, onChange }: { readonly hours: number; onChange(hours: number): void }) {
  const words = useWords();
  return (
    <Field label={words.overlap}>
      {(ids) => (
        <select
          {...ids}
          name="overlapHours"
          value={hours}
          onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
        >
          {OVERLAPS_HOURS.map((one) => (
            <option key={one} value={one}>
              {words.overlaps[one]}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
