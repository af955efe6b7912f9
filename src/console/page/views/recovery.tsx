/** Requests a recovery of everything since a moment, and shows its progress. */

import { useEffect, useState } from 'preact/hooks';
import { useAnswer, useMutation } from '../answer.ts';
import type { Collection, RecoveryDocument } from '../documents.ts';
import { Field, Fold, Problem } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useNow } from '../now.ts';
import { randomId } from '../random-id.ts';
import { useFormats } from '../words/formats.ts';
import { useWords } from '../words/language.ts';

const HOUR_MS = 3_600_000;
const CHECK_EVERY_MS = 2_000;

/** The value of a datetime-local field. */
function localMinute(atMs: number): string {
  const offsetMs = new Date(atMs).getTimezoneOffset() * 60_000;
  return new Date(atMs - offsetMs).toISOString().slice(0, 16);
}

export function Recovery({ onChange }: { onChange(): void }) {
  const words = useWords();
  const { rest } = useModel();
  const mutation = useMutation();
  const beat = useNow(CHECK_EVERY_MS);
  const last = useAnswer(
    (signal) => rest.read<Collection<RecoveryDocument>>('/recoveries', { itemsPerPage: 1 }, signal),
    [],
    [beat],
  );
  const recovery = last.value?.['hydra:member'][0] ?? null;
  useEffect(() => {
    if (recovery !== null) onChange();
  }, [recovery?.state, recovery?.sent]);
  const begin = (since: string, includeDelivered: boolean): void =>
    mutation.run(async () => {
      const headers = { 'Idempotency-Key': randomId() };
      await rest.ask('POST', '/recoveries', {
        body: { since: new Date(since).toISOString(), includeDelivered },
        headers,
      });
      last.again();
    });
  const stop = (): void =>
    mutation.run(async () => {
      await rest.ask('DELETE', recovery?.['@id'] ?? '');
      last.again();
    });
  const isOpen = recovery !== null && recovery.state !== 'finished' && recovery.state !== 'stopped';
  return (
    <Fold class="more" title={words.recover} isNeeded={isOpen}>
      <p class="hint">{words.recoverHint}</p>
      <RecoveryForm isHeld={mutation.isUnderWay || isOpen} onBegin={begin} />
      <Problem text={mutation.problem} />
      {recovery !== null && <Progress recovery={recovery} isOpen={isOpen} onStop={stop} />}
    </Fold>
  );
}

interface RecoveryFormProps {
  readonly isHeld: boolean;
  onBegin(since: string, includeDelivered: boolean): void;
}

function RecoveryForm({ isHeld, onBegin }: RecoveryFormProps) {
  const words = useWords();
  const [since, setSince] = useState(() => localMinute(Date.now() - 24 * HOUR_MS));
  const [includeDelivered, setIncludeDelivered] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    onBegin(since, includeDelivered);
  };
  return (
    <form class="line" onSubmit={submit}>
      <Field label={words.sinceWhen}>
        {(ids) => (
          <input
            {...ids}
            type="datetime-local"
            required
            value={since}
            onInput={({ currentTarget }) => setSince(currentTarget.value)}
          />
        )}
      </Field>
      <label class="check">
        <input
          type="checkbox"
          checked={includeDelivered}
          onChange={({ currentTarget }) => setIncludeDelivered(currentTarget.checked)}
        />
        {words.includeDelivered}
      </label>
      <button type="submit" disabled={isHeld}>
        {words.recoverNow}
      </button>
    </form>
  );
}

interface ProgressProps {
  readonly recovery: RecoveryDocument;
  readonly isOpen: boolean;
  onStop(): void;
}

function Progress({ recovery, isOpen, onStop }: ProgressProps) {
  const words = useWords();
  const formats = useFormats();
  const { state, stateReason, matched, sent, delivered, failed, since } = recovery;
  return (
    <div class="progress" role="status">
      <p>
        <span class="tag">{words.recoveryStates[state] ?? state}</span>{' '}
        {words.recoverySaid(formats.moment(since), sent, matched, delivered, failed)}
      </p>
      {stateReason !== null && <p class="hint">{stateReason}</p>}
      <progress max={Math.max(1, matched)} value={sent} aria-label={words.recover} />
      {isOpen && (
        <button type="button" onClick={onStop}>
          {words.stop}
        </button>
      )}
    </div>
  );
}
