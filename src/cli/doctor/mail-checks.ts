/** Whether the mail server accepts connections and the login, and the sender's DNS records: SPF, DMARC, DKIM. */

import { Resolver } from 'node:dns/promises';
import { domainToASCII } from 'node:url';
import type { Config } from '../../config.ts';
import { FEATURES } from '../../features.ts';
import { type Finding, findingsAbout } from './finding.ts';

const { fine, lookAt, wrong, unknown } = findingsAbout('mail');

const DNS_TIMEOUT_MS = 2_000;
const DNS_TRIES = 2;

export interface MailCheckOptions {
  /** Empty: DKIM's key is not checked. */
  readonly dkimSelector: string;
  /** `host` or `host:port`; empty: the system's. */
  readonly dnsServer: string;
}

export async function checkMail(config: Config, options: MailCheckOptions): Promise<readonly Finding[]> {
  const { mail } = config;
  if (mail === null) return [fine('no e-mails are sent: VIGIE_SMTP_URL is empty')];
  const { url, isTlsInsecure, from } = mail;
  const reasons = await Promise.all(FEATURES.map(async ({ checkServer }) => (await checkServer?.(config)) ?? null));
  const reason = reasons.find((each) => each !== null) ?? null;
  const { host } = new URL(url);
  const domain = domainToASCII(from.address.slice(from.address.lastIndexOf('@') + 1));
  return [
    reason === null
      ? fine(`${host} takes connections${url.includes('@') ? ' and the login' : ''}`)
      : wrong(`${host}: ${reason}`, 'correct VIGIE_SMTP_URL, or see to the mail server'),
    ...(isTlsInsecure ? [lookAt('any certificate of it is accepted', 'name its authority in VIGIE_SMTP_TLS_CA')] : []),
    ...(await checkSender(domain, options)),
  ];
}

async function checkSender(domain: string, { dkimSelector, dnsServer }: MailCheckOptions): Promise<readonly Finding[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  if (dnsServer !== '') resolver.setServers([dnsServer]);
  /** Its texts that begin so. */
  const texts = async (name: string, begin: RegExp): Promise<readonly string[]> => {
    const records = await resolver.resolveTxt(name).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENODATA' || error.code === 'ENOTFOUND') return [];
      throw error;
    });
    return records.map((parts) => parts.join('')).filter((text) => begin.test(text));
  };
  const dkimName = `${dkimSelector}._domainkey.${domain}`;
  const asked = [
    texts(domain, /^v=spf1(?: |$)/i).then((records) => spfFinding(domain, records)),
    dmarcRecords(domain, texts).then((records) => dmarcFinding(domain, records)),
    ...(dkimSelector === '' ? [] : [texts(dkimName, /(?:^|;)\s*p=/).then((records) => dkimFinding(dkimName, records))]),
  ];
  const answers = await Promise.allSettled(asked);
  const findings = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  if (dkimSelector === '') {
    findings.push(
      unknown(`DKIM of ${domain}: its selector is not known here`, '--dkim-selector NAME looks at its key'),
    );
  }
  const refused = answers.find((answer) => answer.status === 'rejected');
  if (refused === undefined) return findings;
  const { code, message } = refused.reason as NodeJS.ErrnoException;
  const said = `DNS does not answer for ${domain} (${code ?? message})`;
  return [unknown(said, 'ask again, or another one with --dns HOST'), ...findings];
}

/** RFC 7208. */
function spfFinding(domain: string, records: readonly string[]): Finding {
  const [record] = records;
  if (record === undefined) {
    return lookAt(`${domain} has no SPF record`, 'publish a TXT record such as "v=spf1 a:MAIL-SERVER -all"');
  }
  if (records.length > 1) return wrong(`${domain} has ${records.length} SPF records, so none counts`, 'leave one');
  if (/\s\+?all\b/i.test(record)) return wrong(`SPF of ${domain} lets everybody send: ${record}`, 'end it with -all');
  if (!/\s[-~]all\b|\bredirect=/i.test(record)) {
    return lookAt(`SPF of ${domain} refuses nobody: ${record}`, 'end it with ~all or -all');
  }
  return fine(`SPF of ${domain}: ${record}`);
}

/** The record of the domain, or of its nearest parent with at least two labels (RFC 7489, 6.6.3). */
async function dmarcRecords(
  domain: string,
  texts: (name: string, begin: RegExp) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const labels = domain.split('.');
  for (let at = 0; at === 0 || at < labels.length - 1; at += 1) {
    const records = await texts(`_dmarc.${labels.slice(at).join('.')}`, /^v=DMARC1\s*(?:;|$)/);
    if (records.length > 0) return records;
  }
  return [];
}

function dmarcFinding(domain: string, records: readonly string[]): Finding {
  const [record] = records;
  if (record === undefined) {
    return lookAt(
      `${domain} has no DMARC record`,
      `publish a TXT record at _dmarc.${domain} such as "v=DMARC1; p=none"`,
    );
  }
  if (records.length > 1) return wrong(`${domain} has ${records.length} DMARC records, so none counts`, 'leave one');
  const [, policy] = /;\s*p\s*=\s*(none|quarantine|reject)\b/i.exec(record) ?? [];
  if (policy === undefined)
    return wrong(`DMARC of ${domain} has no policy: ${record}`, 'add p=none, or a stricter one');
  return fine(`DMARC of ${domain}: ${record}`);
}

/** RFC 6376, 3.6.1: an empty key is a revoked one. */
function dkimFinding(name: string, records: readonly string[]): Finding {
  const [record] = records;
  if (record === undefined) return wrong(`there is no DKIM key at ${name}`, 'publish what the mail server signs with');
  if (/(?:^|;)\s*p=\s*(?:;|$)/.test(record)) return wrong(`the DKIM key at ${name} is revoked`, 'publish a new one');
  return fine(`DKIM has a key at ${name}`);
}
