/**
 * `vigie demo` shows the path of adverts on one screen. It runs a daemon, creates saved searches, publishes a
 * recorded market or a file, and prints what a client receives. By default, its servers are embedded and their data is
 * separate from that of `vigie serve`.
 */

import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { pause } from '../../engine/actor/waiting.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import { publish } from '../../engine/broker/publish.ts';
import { advertSubject } from '../../engine/broker/topology.ts';
import type { PublishAdverts } from '../../feature.ts';
import type { Service } from '../../service.ts';
import { onDatabase } from '../connect.ts';
import { startProgress } from '../progress.ts';
import { CommandError, commandLine, interruptSignal, print, printable, styled } from '../terminal.ts';
import { type Played, play, type Recording, readRecording } from './recording.ts';
import {
  DEMO_SEARCHES,
  type DemoSearch,
  EVERYTHING,
  listenLocally,
  type ReceivedDelivery,
  setUpDemo,
  startDemoReceiver,
} from './set-up.ts';

export interface DemoOptions {
  /** Null: run until Ctrl-C. */
  readonly seconds: number | null;
  /** A file of adverts to use instead of the recorded ones, or null. */
  readonly feed: DemoFeed | null;
}

export interface DemoFeed {
  readonly path: string;
  readonly publish: PublishAdverts;
}

const euros = new Intl.NumberFormat('fr-FR', { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 });

const PUBLISH_EVERY_MS = 200;
const NEAR_THE_PORT = '/indicators/points_of_interest?lat=43.1212&lon=5.9320&radius=3&facilities[]=school';
type Tally = Record<'published' | 'matches' | 'events' | 'mails' | 'refused', number>;

const SHOWN_PER_SECOND = 12;
const MAIL_LINES_SHOWN = 5;
const FIRST_MATCH_MS_MAX = 60_000;
/** The longest possible delay of a timer. */
const LONG_MS = 2 ** 31 - 1;

/**
 * Throws `CommandError` if the daemon failed, if a signature was invalid, or if adverts were published but, without an
 * interruption, no match was delivered. Throws `InterruptedError` if interrupted before the demonstration began.
 */
export async function runDemo({ seconds, feed }: DemoOptions): Promise<void> {
  const tally: Tally = { published: 0, matches: 0, events: 0, mails: 0, refused: 0 };
  const stopping = interruptSignal();
  const ending = new AbortController();
  stopping.addEventListener('abort', () => ending.abort(), { once: true });
  const closers: (() => Promise<void>)[] = [];
  print(styled('bold', 'Vigie demonstration: starting PostgreSQL, nats-server and the daemon …'));
  const show = throttledPrint();
  const titles = new Map<string, string>();
  const progress = startProgress('starting PostgreSQL, nats-server and the daemon');
  try {
    const mailServer = await startDemoMailServer((mail) => {
      tally.mails += 1;
      print(describeMail(mail));
    });
    closers.push(mailServer.close);
    const receiver = await startDemoReceiver(onReceived(tally, titles, show));
    closers.push(receiver.close);
    const searches = feed === null ? DEMO_SEARCHES : [EVERYTHING];
    const recording = await readRecording();
    const { service, broker, key, dataDir } = await setUpDemo({
      smtpUrl: mailServer.url,
      receiver,
      titles,
      stopping,
      closers,
      searches,
      points: recording.points,
      dataDirSuffix: feed === null ? '-demo' : '-demo-feed',
      onStep: (doing) => progress.update({ doing, count: null, share: null }),
    });
    progress.end();
    showWhereToLook(service, key, dataDir, searches);
    const onPublished = (): void => {
      if (tally.published === 0 && seconds !== null) setTimeout(() => ending.abort(), seconds * 1_000).unref();
      tally.published += 1;
    };
    const crawl =
      feed === null
        ? publishUntil(ending.signal, broker, recording, (played) => {
            onPublished();
            show(describeAdvert(played));
          })
        : showFeed(feed, service, broker, ending.signal, onPublished);
    const shown = crawl.then(() => untilDelivered(tally, stopping));
    await Promise.race([shown, service.failed.then((reason) => Promise.reject(new CommandError(reason)))]);
  } finally {
    progress.end();
    for (const close of closers.reverse()) await close();
  }
  summarise(tally, stopping.aborted);
}

function onReceived(
  tally: Tally,
  titles: ReadonlyMap<string, string>,
  show: (line: string) => void,
): Parameters<typeof startDemoReceiver>[0] {
  return {
    onDelivery(path, delivery) {
      if (path === '/matches') tally.matches += 1;
      else tally.events += 1;
      show(describeDelivery(path, delivery, titles));
    },
    onRefused(reason) {
      tally.refused += 1;
      print(styled('red', `  ✗ refused: ${reason}`));
    },
  };
}

function showWhereToLook(service: Service, key: string, dataDir: string, searches: readonly DemoSearch[]): void {
  print(`  console     ${service.apiUrl}/console#key=${key}`);
  print(`  API         ${service.apiUrl}`);
  print(`  health      ${service.operationsUrl}/readyz    metrics ${service.operationsUrl}/metrics`);
  print(`  servers     NATS ${hostsOf(service.natsUrl)}, PostgreSQL ${hostsOf(service.databaseUrl)}`);
  print(`  API key     ${key}`);
  print(`  operators   VIGIE_DATA_DIR=${dataDir} ${commandLine} admin status --address ${service.adminAddress}`);
  print(`  documents   ${service.apiUrl}/docs`);
  print(`  try         curl -H 'X-API-KEY: ${key}' ${service.apiUrl}/searches`);
  print(`              curl -gH 'X-API-KEY: ${key}' '${service.apiUrl}${NEAR_THE_PORT}'`);
  print();
  for (const { title } of searches) print(`  search      ${title}`);
  print();
}

/** The hosts of one or more URLs, without credentials. */
function hostsOf(urls: string): string {
  return urls.replaceAll(/\b\w+:\/\/(?:[^@/,]*@)?/g, '').replace(/[/?].*$/s, '');
}

async function publishUntil(
  ended: AbortSignal,
  broker: Broker,
  recording: Recording,
  onPublished: (played: Played) => void,
): Promise<void> {
  for (const played of play(recording, () => new Date())) {
    if (ended.aborted) return;
    const { property, advert, crawledAt } = played.message;
    await publish(broker, {
      subject: advertSubject(property.uuid),
      messageId: `${advert.uuid}/${crawledAt}`,
      bytes: Buffer.from(JSON.stringify(played.message)),
    });
    onPublished(played);
    await pause(PUBLISH_EVERY_MS, ended);
  }
}

async function showFeed(
  { path, publish }: DemoFeed,
  service: Service,
  broker: Broker,
  stopping: AbortSignal,
  onAdvert: () => void,
): Promise<void> {
  const counts = await onDatabase(service.databaseUrl, (database) =>
    publish(path, { database, broker, stopping, onAdvert }),
  );
  print(`  feed        ${counts.adverts} adverts, ${counts.new} new, ${counts.changed} changed, ${counts.gone} gone`);
  await pause(LONG_MS, stopping);
}

/** Waits for the first match, up to a minute beyond the requested seconds, because a machine may be slow. */
async function untilDelivered(tally: Tally, stopping: AbortSignal): Promise<void> {
  const givesUpAt = performance.now() + FIRST_MATCH_MS_MAX;
  while (!stopping.aborted && tally.matches === 0 && performance.now() < givesUpAt)
    await pause(PUBLISH_EVERY_MS, stopping);
}

function describeAdvert({ message: { kind, advert }, title }: Played): string {
  const what = kind === 'expire' ? `expired     ${title}` : `advert      ${title}, ${formatEuros(advert.price)}`;
  return styled('dim', `→ ${what}`);
}

function describeDelivery(path: string, delivery: ReceivedDelivery, titles: ReadonlyMap<string, string>): string {
  const { event, adEvent, match } = delivery;
  const { title, price, city } = match.propertyDocument;
  const what = printable(`${title ?? 'untitled'}${city === null ? '' : ` (${city.name})`}, ${formatEuros(price)}`);
  const search = styled(
    'dim',
    `for “${titles.get(match.search) ?? 'one of your searches, or a test'}”, signature verified`,
  );
  if (path === '/matches') return `${styled('green', `  ← match     ${what}`)}  ${search}`;
  const values = adEvent ? ` ${adEvent.fieldOldValue ?? '–'} → ${adEvent.fieldNewValue ?? '–'}` : '';
  const percent = adEvent?.percentVariation ? ` (${adEvent.percentVariation} %)` : '';
  return `${styled('yellow', `  ← event     ${event}${values}${percent}: ${what}`)}  ${search}`;
}

function describeMail({ subject, lines }: DemoMail): string {
  const some = lines.slice(0, MAIL_LINES_SHOWN).map((line) => styled('dim', printable(`              ${line}`)));
  return [styled('cyan', printable(`  ✉ e-mail    ${subject}`)), ...some].join('\n');
}

function formatEuros(amount: number | null | undefined): string {
  return amount === null || amount === undefined ? 'no price' : euros.format(amount).replaceAll(/\s/gu, ' ');
}

/** Prints the first lines of each second and counts the others, because a burst would scroll important lines away. */
function throttledPrint(): (line: string) => void {
  let second = 0;
  let shown = 0;
  let hidden = 0;
  return (line) => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) {
      if (hidden > 0) print(styled('dim', `  … and ${hidden} more`));
      second = now;
      shown = 0;
      hidden = 0;
    }
    if (shown < SHOWN_PER_SECOND) print(line);
    else hidden += 1;
    shown += 1;
  };
}

function summarise(tally: Tally, isBrokenOff: boolean): void {
  print();
  print(
    styled(
      'bold',
      `${tally.published} adverts and changes in; ${tally.matches} matches and ${tally.events} events out`,
    ) + `, ${tally.mails} e-mails, ${tally.refused} signatures refused`,
  );
  print();
  print('Next, with your own adverts:');
  print(`  ${commandLine} demo --feed FILE --format poliris   this demonstration with your own file`);
  print(
    `  ${commandLine} serve                               the service, with its console and its documents at /docs`,
  );
  print(`  ${commandLine} keys create --client me             an API key, while the service runs`);
  if (tally.matches === 0 && tally.published > 0 && !isBrokenOff)
    throw new CommandError('Adverts were published, but no match was delivered. See the log above.');
  if (tally.refused > 0) throw new CommandError(`The signatures of ${tally.refused} deliveries were invalid.`);
}

interface DemoMail {
  readonly subject: string;
  /** The lines of the plain text, without empty ones. */
  readonly lines: readonly string[];
}

/** The mail server of the demonstration accepts and reports every message (a minimal part of RFC 5321). */
async function startDemoMailServer(onMail: (mail: DemoMail) => void) {
  const server = createServer((socket) => {
    // An error only means that the client has disconnected.
    socket.on('error', () => socket.destroy());
    converse(socket, onMail);
  });
  const { address, close } = await listenLocally(server);
  return { url: `smtp://${address}`, close };
}

function converse(socket: Socket, onMail: (mail: DemoMail) => void): void {
  let message: string[] | null = null;
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  say('220 demonstration');
  createInterface({ input: socket }).on('line', (line) => {
    if (message === null) {
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'DATA') message = [];
      if (verb === 'QUIT') socket.end('221 bye\r\n');
      else say(verb === 'DATA' ? '354 go on' : '250 ok');
    } else if (line === '.') {
      onMail(read(message));
      message = null;
      say('250 taken');
    } else message.push(line.replace(/^\./, ''));
  });
}

/** Reads messages of `features/mail/mail-letter.ts`. Of MIME (RFC 2045 to 2047), supports only what they use. */
function read(lines: readonly string[]): DemoMail {
  const [head = '', ...parts] = lines.join('\n').split('\n\n');
  const subject = /^Subject: ((?:.*\n )*.*)/m.exec(head)?.[1] ?? '';
  const isBase64 = /base64/i.test(parts[0] ?? '');
  const body = parts.slice(1).join('\n\n').split('\n--')[0] ?? '';
  const text = isBase64 ? Buffer.from(body, 'base64').toString() : decodeQuoted(body.replace(/=\n/g, ''));
  return { subject: decodeWords(subject), lines: text.split('\n').filter((line) => line.trim() !== '') };
}

function decodeWords(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?Q\?([^?]*)\?=/gi, (_, word: string) => decodeQuoted(word.replaceAll('_', ' '), 'latin1'))
    .replace(/\n /g, ' ')
    .replace(/[\x80-\xff]+/g, (bytes) => Buffer.from(bytes, 'latin1').toString());
}

/** `latin1` keeps the bytes, because a character may be split between two encoded words. */
function decodeQuoted(text: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  const bytes = text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return encoding === 'latin1' ? bytes : Buffer.from(bytes, 'latin1').toString();
}
