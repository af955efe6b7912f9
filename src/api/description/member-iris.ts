/**
 * The IRIs of members, as `/docs.jsonld` describes them and the contexts use them: of our own vocabulary, but where
 * clients look for one that everybody knows. What shows a reference to a resource shows its schema.org name.
 */

const NAME = 'https://schema.org/name';

const WELL_KNOWN: Readonly<Record<string, string>> = {
  'Search/title': NAME,
  'PropertyDocument/title': NAME,
  'City/name': NAME,
  'Department/name': NAME,
  'SiteCategory/name': NAME,
  'Location/label': NAME,
  'User/name': NAME,
  // API Platform's clients find the field of a violation by these.
  'ConstraintViolation/propertyPath': 'propertyPath',
  'ConstraintViolation/message': 'message',
  'ConstraintViolation/code': 'code',
};

/** Absolute, or relative to our vocabulary: `Search/budgetMin`. */
export function memberIri(className: string, member: string): string {
  const own = `${className}/${member}`;
  return WELL_KNOWN[own] ?? own;
}

export function isOwnIri(iri: string): boolean {
  return !iri.includes(':');
}
