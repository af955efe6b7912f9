/** Where what is found goes: webhooks, e-mail, or nowhere yet. */

import { Field, Fold, Violation } from '../elements.tsx';
import { useWords } from '../words/language.ts';
import { type Draft, EVENT_KINDS, isUnset } from './draft.ts';
import type { FieldsProps } from './place-fields.tsx';

const FREQUENCIES = ['instant', 'daily', 'weekly'] as const;

export function NotificationFields(fields: FieldsProps) {
  const { draft, change, violations } = fields;
  const words = useWords();
  const toggle = (kind: string): void => {
    const { subscribedEvents: kinds } = draft;
    change({ subscribedEvents: kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind] });
  };
  return (
    <fieldset>
      <legend>{words.notifications}</legend>
      <label class="check">
        <input
          type="checkbox"
          role="switch"
          checked={draft.notificationEnabled}
          onChange={({ currentTarget }) => change({ notificationEnabled: currentTarget.checked })}
        />
        {words.members.notificationEnabled}
      </label>
      <Address {...fields} member="endpointRecipient" type="url" />
      <Address {...fields} member="eventEndpoint" type="url" />
      <div class="chips" role="group" aria-label={words.members.subscribedEvents}>
        {EVENT_KINDS.map((kind) => (
          <button
            key={kind}
            type="button"
            class="chip"
            aria-pressed={draft.subscribedEvents.includes(kind)}
            onClick={() => toggle(kind)}
          >
            {words.events[kind]}
          </button>
        ))}
      </div>
      <Violation text={violations.of('subscribedEvents')} />
      <MoreNotifications {...fields} />
    </fieldset>
  );
}

const MORE: readonly (keyof Draft)[] = ['notificationRecipient', 'notificationFrequency', 'context'];

function MoreNotifications(fields: FieldsProps) {
  const { draft, change, violations } = fields;
  const words = useWords();
  return (
    <Fold title={words.moreNotifications} isNeeded={!isUnset(draft, MORE) || violations.ofAny(MORE)}>
      <Address {...fields} member="notificationRecipient" type="email" />
      <Field label={words.members.notificationFrequency} violation={violations.of('notificationFrequency')}>
        {(ids) => (
          <select
            {...ids}
            value={draft.notificationFrequency}
            onChange={({ currentTarget }) => change({ notificationFrequency: currentTarget.value })}
          >
            {FREQUENCIES.map((one) => (
              <option key={one} value={one}>
                {words.frequencies[one]}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={words.members.context} hint={words.contextHint} violation={violations.of('context')}>
        {(ids) => (
          <textarea
            {...ids}
            rows={2}
            spellcheck={false}
            value={draft.context}
            onInput={({ currentTarget }) => change({ context: currentTarget.value })}
          />
        )}
      </Field>
    </Fold>
  );
}

interface AddressProps extends FieldsProps {
  readonly member: 'endpointRecipient' | 'eventEndpoint' | 'notificationRecipient';
  readonly type: 'url' | 'email';
}

function Address({ draft, change, violations, member, type }: AddressProps) {
  const words = useWords();
  return (
    <Field label={words.members[member]} violation={violations.of(member)}>
      {(ids) => (
        <input
          {...ids}
          type="text"
          inputMode={type}
          name={member}
          spellcheck={false}
          autocomplete="off"
          value={draft[member]}
          onInput={({ currentTarget }) => change({ [member]: currentTarget.value })}
        />
      )}
    </Field>
  );
}
