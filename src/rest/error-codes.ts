/**
 * Everything by which a program distinguishes refusals: the `code` of a violation and the `type` of a problem, each with the
 * sentence of the guide at `/docs`. A code that is not here does not compile.
 */

import type { Sentence } from './sentences.ts';

export const VIOLATION_CODES = {
  required: { en: 'The member must be there.', fr: 'Ce champ est obligatoire.' },
  unknown_member: {
    en: 'No such member; the message names the nearest.',
    fr: 'Ce champ n’existe pas ; le message nomme le plus proche.',
  },
  unrecognized_keys: { en: 'The object has members that are not known.', fr: 'L’objet a des champs inconnus.' },
  invalid_type: {
    en: 'Text, number, list or object: another one is wanted.',
    fr: 'La valeur n’est pas du type attendu.',
  },
  invalid_value: { en: 'The value is none of those allowed.', fr: 'La valeur n’est pas admise.' },
  invalid_union: { en: 'The value fits none of the forms allowed.', fr: 'La valeur n’a aucune des formes admises.' },
  invalid_format: { en: 'Not written as wanted: a URL, a code, an IRI.', fr: 'Format inattendu : URL, code ou IRI.' },
  invalid_text: { en: 'The text has characters that are none.', fr: 'Le texte contient des caractères invalides.' },
  invalid_iri: { en: 'No IRI of the collection that is meant.', fr: 'Ce n’est pas une IRI de la collection attendue.' },
  invalid_time: { en: 'No date and time with an offset.', fr: 'Ce n’est pas une date et une heure avec décalage.' },
  invalid_endpoint: {
    en: 'The service does not send to such a URL.',
    fr: 'Le service n’envoie rien à une adresse de cette sorte.',
  },
  invalid_key: { en: 'A name within the object is not allowed.', fr: 'Un nom dans l’objet n’est pas admis.' },
  invalid_element: { en: 'An element of the list is not allowed.', fr: 'Un élément de la liste n’est pas admis.' },
  not_multiple_of: { en: 'No multiple of the step.', fr: 'La valeur ne suit pas le pas attendu.' },
  too_small: { en: 'Below the least that is allowed.', fr: 'En dessous du minimum.' },
  too_big: { en: 'Above the most that is allowed, or too long.', fr: 'Au-dessus du maximum, ou trop long.' },
  too_old: { en: 'Before what is kept.', fr: 'Antérieur à ce qui est conservé.' },
  too_many_parts: { en: 'The body has too many objects and members.', fr: 'Le corps a trop d’objets et de champs.' },
  min_above_max: { en: 'A minimum is above its maximum.', fr: 'Un minimum dépasse son maximum.' },
  incomplete_circle: {
    en: '`lat`, `lon` and `radius` come together.',
    fr: '`lat`, `lon` et `radius` vont ensemble.',
  },
  unknown_reference: { en: 'What it names does not exist.', fr: 'Ce qui est nommé n’existe pas.' },
  unknown_endpoint: { en: 'Nothing of yours was sent to this URL.', fr: 'Rien n’a été envoyé à cette adresse.' },
  idempotency_key_reused: {
    en: 'This `Idempotency-Key` was used for another request.',
    fr: 'Cette `Idempotency-Key` a servi pour une autre demande.',
  },
} as const satisfies Readonly<Record<string, Sentence>>;

export type ViolationCode = keyof typeof VIOLATION_CODES;

/** Of an issue of zod's: `custom` says no more than that a rule was written by hand. */
export function codeOf(zodCode: string): ViolationCode {
  return Object.hasOwn(VIOLATION_CODES, zodCode) ? (zodCode as ViolationCode) : 'invalid_value';
}

export const PROBLEM_TYPES = {
  'about:blank': { en: 'The HTTP status says it all.', fr: 'Le code HTTP dit tout.' },
  '/docs.jsonld#ConstraintViolationList': {
    en: 'The body is refused; `violations` says what is wrong, each with `propertyPath`, `message` and `code`.',
    fr: 'Le corps est refusé ; `violations` dit pourquoi, chaque fois avec `propertyPath`, `message` et `code`.',
  },
  '/docs.jsonld#LimitReached': {
    en: 'You have as much as you may have: `limit` says of what, `maximum` and `used` how much.',
    fr: 'Vous avez atteint une limite : `limit` dit laquelle, `maximum` et `used` de combien.',
  },
} as const satisfies Readonly<Record<string, Sentence>>;

export type ProblemType = keyof typeof PROBLEM_TYPES;
