/** The fields for notifications: webhooks and e-mail. */

import type { SearchDocument } from '../documents.ts';
import { Field, Fold, Violation } from '../elements.tsx';
import { EVENT_KINDS } from '../generated/documents.ts';
import { type Destinations, OutlookLines } from '../outlook.tsx';
import { SETTINGS } from '../session.ts';
import { useFormats } from '../words/formats.ts';
import { useWords } from '../words/language.ts';
import { type Draft, isUnset, withPricePercent } from './draft.ts';
import type { FieldsProps } from './place-fields.tsx';

const FREQUENCIES = ['instant', 'daily', 'weekly'] as const;

interface NotificationFieldsProps extends FieldsProps {
  readonly search: Destinations;
}

export function NotificationFields({ search, ...fields }: NotificationFieldsProps) {
  const { draft, change, violations } = fields;
  const words = useWords();
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
      <p role="status">
        <OutlookLines search={search} />
      </p>
      <Address {...fields} member="notificationRecipient" type="email" />
      <Consent {...fields} />
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
      <Address {...fields} member="endpointRecipient" type="url" />
      <Address {...fields} member="eventEndpoint" type="url" />
      <EventKinds {...fields} />
      <PriceThreshold {...fields} />
      <Fold title={words.forPrograms} isNeeded={!isUnset(draft, MORE) || violations.ofAny(MORE)}>
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
    </fieldset>
  );
}

function EventKinds({ draft, change, violations }: FieldsProps) {
  const words = useWords();
  const toggle = (kind: string): void => {
    const { subscribedEvents: kinds } = draft;
    change({ subscribedEvents: kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind] });
  };
  return (
    <>
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
    </>
  );
}

function PriceThreshold({ draft: { eventThresholds }, change, violations }: FieldsProps) {
  const words = useWords();
  return (
    <Field label={words.members.eventThresholds} violation={violations.of('eventThresholds')}>
      {(ids) => (
        <input
          {...ids}
          type="number"
          min="0"
          step="any"
          value={eventThresholds?.price?.percent ?? ''}
          onInput={({ currentTarget: { valueAsNumber } }) =>
            change({ eventThresholds: withPricePercent(eventThresholds, valueAsNumber) })
          }
        />
      )}
    </Field>
  );
}

function Consent({ draft, change, violations }: FieldsProps) {
  const [words, formats] = [useWords(), useFormats()];
  if (draft.notificationRecipient.trim() === '') return null;
  const { notificationConsent: consent } = draft;
  const state = (source: string): void =>
    change({ notificationConsent: source === '' ? null : { source, at: new Date().toISOString() } });
  return (
    <>
      <Field
        label={words.members.notificationConsent}
        hint={words.consentHint}
        violation={violations.of('notificationConsent')}
      >
        {(ids) => (
          <input
            {...ids}
            name="notificationConsent"
            autocomplete="off"
            value={consent?.source ?? ''}
            onInput={({ currentTarget }) => state(currentTarget.value)}
          />
        )}
      </Field>
      {consent !== null && <p class="hint">{words.consentOf(formats.day(consent.at))}</p>}
    </>
  );
}

const MORE: readonly (keyof Draft)[] = ['context'];

/** How the draft would notify once it is saved. */
export function destinationsOf(draft: Draft, saved: SearchDocument | null): Destinations {
  const { notificationEnabled, subscribedEvents } = draft;
  const recipient = draft.notificationRecipient.trim();
  const isByConsent = saved?.emailStatus === 'active' || saved?.emailStatus === 'consent-missing';
  const hasChanged =
    recipient !== (saved?.notificationRecipient ?? '') ||
    saved?.emailStatus === 'off' ||
    (isByConsent && draft.notificationConsent?.at !== saved?.notificationConsent?.at);
  const expected = expectedStatus(recipient, draft.notificationConsent !== null);
  return {
    notificationEnabled,
    subscribedEvents,
    endpointRecipient: draft.endpointRecipient.trim() || null,
    eventEndpoint: draft.eventEndpoint.trim() || null,
    emailStatus: saved === null || hasChanged ? expected : saved.emailStatus,
  };
}

function expectedStatus(recipient: string, hasConsent: boolean): Destinations['emailStatus'] {
  if (recipient === '') return 'off';
  if (!SETTINGS.sendsMail) return 'unavailable';
  return SETTINGS.requiresConsent && !hasConsent ? 'consent-missing' : 'active';
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
          onInput={({ currentTarget }) =>
            // Consent belongs to the address: another one begins without.
            change(
              member === 'notificationRecipient'
                ? { notificationRecipient: currentTarget.value, notificationConsent: null }
                : { [member]: currentTarget.value },
            )
          }
        />
      )}
    </Field>
  );
}
