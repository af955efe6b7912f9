/** SQL for e-mail: whether a search sends e-mails, and the choices of its recipient. */

import type { MailRules, RecipientChoice } from '../domain/mail.ts';

/** Whether recipient `key` has made a choice of these kinds. `key` and `scope` are SQL. Served by the primary key. */
export function hasChosen(key: string, kinds: readonly RecipientChoice['kind'][], scope = "'sender'"): string {
  return `exists (select from mail_choices where recipient_key = ${key}
    and kind in ('${kinds.join("', '")}') and scope = ${scope} and value = 'true')`;
}

/** Whether recipient `key` has unsubscribed from all e-mails of the client or was erased. */
export function isOpposed(key: string): string {
  return hasChosen(key, ['unsubscription', 'erasure']);
}

/** Whether the recipient of a row of `searches` has unsubscribed from this search. */
export const IS_STOPPED = hasChosen('mail_key', ['unsubscription'], "'search:' || searches.id");

/** The highest frequency of e-mails that recipient `key` accepts; null if no choice is in force. */
export function frequencyChosenBy(key: string): string {
  return `(select nullif(value #>> '{}', 'false') from mail_choices
    where recipient_key = ${key} and kind = 'frequency' and scope = 'sender')`;
}

/** Reads choices only if the search has an address. */
const IS_UNSUBSCRIBED = `(mail_key is not null and (${hasChosen('mail_key', ['unsubscription'])} or ${IS_STOPPED}))`;
const IS_ERASED = `mail_key is not null and ${hasChosen('mail_key', ['erasure'])}`;
const IS_REFUSED = 'mail_refused_at is not null';
/** The columns of `MailStanding`. */
export const MAIL_COLUMNS = `mail_key as "mailKey", ${IS_REFUSED} as "isRefused",
  ${IS_UNSUBSCRIBED} as "isUnsubscribed",
  case when mail_key is not null then ${frequencyChosenBy('mail_key')} end as "frequencyChosen", ${IS_ERASED} as "isErased"`;

/** `emailStatusOf` as SQL, for a row of `searches`. */
export function emailStatusSql({ isMailAvailable, isConsentRequired }: MailRules): string {
  const lacksConsent = isConsentRequired ? `or members -> 'notificationConsent' is null` : '';
  return `case when mail_key is null then 'off' when ${!isMailAvailable} then 'unavailable'
    when ${IS_UNSUBSCRIBED} then 'unsubscribed' when ${IS_REFUSED} then 'refused'
    when ${IS_ERASED} ${lacksConsent} then 'consent-missing'
    when notification_enabled then 'active' else 'off' end`;
}

/**
 * The address for e-mails. Null if there is none, the address was refused, or the recipient has unsubscribed or was
 * erased. Most searches have no address, so PostgreSQL reads no choices for them.
 */
export const MAIL_ADDRESS = `case when mail_key is not null and mail_refused_at is null
  and not ${isOpposed('mail_key')} and not ${IS_STOPPED}
  then members ->> 'notificationRecipient' end`;
