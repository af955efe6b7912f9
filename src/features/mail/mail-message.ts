/** An e-mail as it is sent (RFC 5322): the same Message-ID and date on every attempt, one-click unsubscription (RFC 8058). */

import MailComposer from 'nodemailer/lib/mail-composer';
import { createdAtOf, type Uuid } from '../../engine/domain/ids.ts';
import type { MailText } from './mail-text.ts';

export interface Mailbox {
  /** Empty when there is none. */
  readonly name: string;
  readonly address: string;
}

export interface MailMessage {
  readonly id: Uuid;
  readonly from: Mailbox;
  /** The recipient's address. */
  readonly to: string;
  readonly text: MailText;
  readonly unsubscribeUrl: string;
}

/** Resolves with its bytes. */
export function messageBytes({ id, from, to, text, unsubscribeUrl }: MailMessage): Promise<Buffer> {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  return new MailComposer({
    // The library writes into it.
    from: { ...from },
    to: { name: '', address: to },
    subject: text.subject,
    text: text.text,
    html: text.html,
    messageId: `<${id}@${domain}>`,
    date: createdAtOf(id),
    headers: {
      'List-Unsubscribe': `<${unsubscribeUrl}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
    },
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();
}
