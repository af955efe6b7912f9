/**
 * The mailbox of an address, for the daily limit of e-mails. Addresses that differ only by dots or by a part after a
 * plus sign may belong to one mailbox. The identity and the choices of a recipient depend on the whole address instead.
 */

/** Large providers that ignore dots. All domains of a provider have the same mailboxes. */
const WITHOUT_DOTS: readonly (readonly string[])[] = [
  // https://support.google.com/mail/answer/7436150
  ['gmail.com', 'googlemail.com'],
  // https://proton.me/support/addresses-and-aliases
  ['proton.me', 'protonmail.com', 'pm.me'],
];

const FIRST_DOMAINS = new Map(
  WITHOUT_DOTS.flatMap((domains) => domains.map((domain) => [domain, domains[0]] as const)),
);

/** The result is in lower case. */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@');
  const [name = ''] = address.slice(0, at).toLowerCase().split('+', 1);
  const domain = address.slice(at + 1).toLowerCase();
  const first = FIRST_DOMAINS.get(domain);
  return first === undefined ? `${name}@${domain}` : `${name.replaceAll('.', '')}@${first}`;
}
