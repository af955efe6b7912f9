/** The client's own secrets, which sign every webhook beside the token of its search. A value is shown once. */

import { useState } from 'preact/hooks';
import { useAnswer, useDeed } from '../answer.ts';
import type { Collection, SecretDocument } from '../documents.ts';
import { Confirmation, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useFormats } from '../words/formats.ts';
import { useWords } from '../words/language.ts';

export function WebhookSecrets() {
  const words = useWords();
  const formats = useFormats();
  const { rest } = useModel();
  const deed = useDeed();
  const [made, setMade] = useState<SecretDocument | null>(null);
  const [leaving, setLeaving] = useState<SecretDocument | null>(null);
  const read = useAnswer((signal) => rest.read<Collection<SecretDocument>>('/webhook-secrets', {}, signal), []);
  const list = read.value?.['hydra:member'] ?? [];
  const make = (): void =>
    deed.run(async () => {
      setMade((await rest.ask<SecretDocument>('POST', '/webhook-secrets', { body: {} })).body);
      read.again();
    });
  const remove = (): void =>
    deed.run(async () => {
      await rest.ask('DELETE', leaving?.['@id'] ?? '');
      setLeaving(null);
      read.again();
    });
  return (
    <section class="card" aria-labelledby="secrets">
      <h2 id="secrets">{words.secrets}</h2>
      <p class="hint">{words.secretsHint}</p>
      <Problem text={deed.problem ?? read.problem} />
      {made !== null && (
        <div class="outcome" role="status">
          <p>{words.secretOnce}</p>
          <code class="secret">{made.secret}</code>
        </div>
      )}
      <ul class="plain">
        {list.map((secret) => (
          <li key={secret['@id']} class="line">
            <code>{secret.hint}</code>
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
      <button type="button" disabled={deed.isUnderWay} onClick={make}>
        {words.makeSecret}
      </button>
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
