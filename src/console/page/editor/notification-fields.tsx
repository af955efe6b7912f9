/** The fields for notifications: webhooks and e-mail. */

import { Check, ManyChips, SelectField, TextField } from '../controls.tsx';
import type { SearchDocument } from '../documents.ts';
import { Field, Fold, Violation } from '../elements.tsx';
import { useModel } from '../model-context.ts';
import { useValue } from '../observable.ts';
import { type Destinations, OutlookLines } from '../outlook.tsx';
import { SETTINGS } from '../session.ts';
import { useWords } from '../words/language.ts';
import { type Draft, withPricePercent } from './draft.ts';
import { type FieldsProps, MemberField } from './member-field.tsx';

const ADDRESS = { spellcheck: false, autocomplete: 'off' } as const;

interface NotificationFieldsProps extends FieldsProps {
  readonly search: Destinations;
}

export function NotificationFields({ search, ...fields }: NotificationFieldsProps) {
  const { draft, change, violations } = fields;
  const words = useWords();
  return (
    <fieldset>
      <legend>{words.notifications}</legend>
      <Check
        role="switch"
        checked={draft.notificationEnabled}
        onChange={(notificationEnabled) => change({ notificationEnabled })}
      >
        {words.members.notificationEnabled}
      </Check>
      <p role="status">
        <OutlookLines search={search} />
      </p>
      <MemberField
        {...fields}
        {...ADDRESS}
        member="notificationRecipient"
        inputMode="email"
        // Consent belongs to the address, so another address begins without consent.
        onText={(notificationRecipient) => change({ notificationRecipient, notificationConsent: null })}
      />
      <Consent {...fields} />
      <MemberField {...fields} member="publicTitle" hint={words.publicTitleHint} />
      <MemberField {...fields} {...ADDRESS} member="notificationReplyTo" inputMode="email" />
      <SelectField
        label={words.members.notificationFrequency}
        violation={violations.of('notificationFrequency')}
        value={draft.notificationFrequency}
        choices={Object.entries(words.frequencies)}
        onChoose={(notificationFrequency) => change({ notificationFrequency })}
      />
      <MemberField {...fields} {...ADDRESS} member="endpointRecipient" inputMode="url" />
      <MemberField {...fields} {...ADDRESS} member="eventEndpoint" inputMode="url" />
      <ManyChips
        label={words.members.subscribedEvents}
        choices={Object.entries(words.events)}
        chosen={draft.subscribedEvents}
        onChange={(subscribedEvents) => change({ subscribedEvents })}
      />
      <Violation text={violations.of('subscribedEvents')} />
      <PriceThreshold {...fields} />
      <Fold title={words.forPrograms} isNeeded={draft.context !== '' || violations.of('context') !== undefined}>
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

function PublicName() {
  const [words, name] = [useWords(), useValue(useModel().publicName)];
  return name === '' ? null : <p class="hint">{words.publicNameHint(name)}</p>;
}

function PriceThreshold({ draft: { eventThresholds }, change, violations }: FieldsProps) {
  const words = useWords();
  return (
    <TextField
      label={words.members.eventThresholds}
      violation={violations.of('eventThresholds')}
      type="number"
      min="0"
      step="any"
      value={eventThresholds?.price?.percent ?? ''}
      onText={(text) => change({ eventThresholds: withPricePercent(eventThresholds, Number.parseFloat(text)) })}
    />
  );
}

function Consent({ draft, change, violations }: FieldsProps) {
  const words = useWords();
  if (draft.notificationRecipient.trim() === '') return null;
  const { notificationConsent: consent } = draft;
  const state = (source: string): void =>
    change({ notificationConsent: source === '' ? null : { source, at: new Date().toISOString() } });
  return (
    <>
      <PublicName />
      <TextField
        label={words.members.notificationConsent}
        hint={words.consentHint}
        violation={violations.of('notificationConsent')}
        name="notificationConsent"
        autocomplete="off"
        value={consent?.source ?? ''}
        onText={state}
      />
      {consent !== null && <p class="hint">{words.consentOf(words.day(consent.at))}</p>}
    </>
  );
}

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
