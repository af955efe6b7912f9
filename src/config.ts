/**
 * Reads the environment into one frozen `Config`. `config/default.env` lists every setting with its default, which the
 * environment overrides. Only this module reads settings. It reports all problems at once, before anything opens.
 */

import { readFileSync } from 'node:fs';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { isNamespace, NO_NAMESPACE } from './engine/domain/namespace.ts';

/** A rule for URLs. Its message does not repeat the value, which may contain a password. */
function url(...protocols: string[]) {
  const message = `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`;
  const isValid = (value: string) => URL.canParse(value) && protocols.includes(new URL(value).protocol);
  // `URL` also accepts `postgres:user:password@host`, as a path that errors would quote.
  return z.string().refine((value) => /^\w+:\/\//.test(value) && isValid(value), message);
}

/** One or more servers: `postgres://user@host1:5432,host2:5432/name`. The store parses them. */
const databaseUrl = z.string().refine((value) => {
  const [, before = value, hosts = '', after = ''] = /^(\w+:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s.exec(value) ?? [];
  return hosts
    .split(',')
    .every((host) => url('postgres:', 'postgresql:').safeParse(`${before}${host}${after}`).success);
}, 'must be a URL that starts with postgres:// or postgresql://, with commas between several hosts');

/** All servers of a cluster must accept the same credentials, because the client library sends one set to all. */
const natsServers = z
  .string()
  .refine(
    (value) => urlsOf(value).every((each) => url('nats:', 'tls:').safeParse(each).success),
    'must be URLs that start with nats:// or tls://, with commas between them',
  )
  .refine((value) => isOne(value, ({ username, password }) => username && `${username}:${password}`), {
    message: 'must name the same user for all servers',
  })
  .refine((value) => isOne(value, ({ protocol }) => protocol), 'must not mix nats:// and tls://');

function urlsOf(value: string): readonly string[] {
  return value.split(',').map((each) => each.trim());
}

/** Whether all URLs that contain the `part` have the same one. Invalid URLs are reported elsewhere. */
function isOne(value: string, part: (url: URL) => string): boolean {
  const urls = urlsOf(value).filter((each) => URL.canParse(each));
  return new Set(urls.map((each) => part(new URL(each))).filter((each) => each !== '')).size <= 1;
}

/** Refuses a path or a query, because it would be ignored silently. */
const smtpServer = z
  .string()
  .refine((value) => {
    if (!URL.canParse(value)) return false;
    const { protocol, hostname, pathname, search, hash, username, password } = new URL(value);
    const isPlain = /^\/?$/.test(pathname) && search === '' && hash === '';
    const isSmtp = protocol === 'smtp:' || protocol === 'smtps:';
    return isSmtp && isPlain && hostname !== '' && (username === '') === (password === '');
  }, 'must be smtp:// or smtps:// with a host, optionally user:password@ and a port, and nothing else')
  .refine(
    (value) => !/%(?![0-9a-f]{2})/i.test(value),
    'has a % that does not begin an escape sequence. Write it as %25',
  );

/** `alerts@example.org`, or with a display name: `Vigie <alerts@example.org>`. */
const mailbox = z.string().refine((value) => {
  const { name, address } = mailboxOf(value);
  return /^[^\p{Cc}",;:\\()[\]]{0,100}$/u.test(name) && z.email().safeParse(address).success;
}, 'must be an e-mail address, or Name <address>');

function mailboxOf(value: string): { readonly name: string; readonly address: string } {
  const [, name = '', address = value] = /^([^<>]*)<([^<>]*)>$/.exec(value) ?? [];
  return Object.freeze({ name: name.trimEnd(), address });
}

/**
 * The tile server of the console's map: `https://tiles.example.org/{z}/{x}/{y}.png`. The console's
 * Content-Security-Policy names one origin for tiles, so `{s}` for several hosts is refused.
 */
const tilesUrl = z.string().refine((value) => {
  const hasPlaces = ['{z}', '{x}', '{y}'].every((place) => value.includes(place));
  const isKnown = value.replaceAll(/\{[zxyr]\}/g, '').match(/[{}\s;,'"]/) === null;
  if (!hasPlaces || !isKnown || !URL.canParse(value)) return false;
  const { protocol, host, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && !host.includes('%') && username === '' && password === '';
}, 'must be an http(s) URL with {z}, {x} and {y}, on one host and without credentials');

/** Addresses and networks separated by commas: `10.0.0.0/8,::1`. */
const addresses = z.string().transform((value, context): BlockList => {
  const list = new BlockList();
  for (const each of value.split(',').map((part) => part.trim())) {
    if (each === '') continue;
    const [address = '', prefix] = each.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    const bits = prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix);
    const isNetwork = isIP(address) !== 0 && /^\d+$/.test(prefix ?? '0') && bits <= (family === 'ipv6' ? 128 : 32);
    if (isNetwork) list.addSubnet(address, bits, family);
    else context.addIssue({ code: 'custom', message: 'must be addresses and networks, separated by commas' });
  }
  return list;
});

/** An address to listen on: `127.0.0.1:8080`, `[::]:8080`, `localhost:0`. */
const address = z.string().transform((value, context) => {
  const [, bracketed, plain, port = ''] = /^(?:\[([\da-f.:]+)\]|([^\s:[\]]+)):(\d{1,5})$/i.exec(value) ?? [];
  const host = bracketed ?? plain ?? '';
  if (host === '' || Number(port) > 65_535) {
    context.addIssue('must be a host and a port from 0 to 65535, such as 127.0.0.1:8080 or [::1]:8080');
  }
  return { host, port: Number(port) };
});

export const ROLES = ['intake', 'deliver', 'api', 'admin', 'feeds'] as const;
export type Role = (typeof ROLES)[number];

const DEFAULTS_FILE = new URL('../config/default.env', import.meta.url);

export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID';

  static of(problems: readonly string[]): ConfigError {
    return new ConfigError(`The configuration is invalid:\n${problems.map((problem) => `  ${problem}.`).join('\n')}`);
  }
}

const optional = <T extends z.ZodType>(schema: T) =>
  z.union([z.literal('').transform(() => null), schema]) as z.ZodType<z.output<T> | null>;
const boolean = z.enum(['true', 'false'], 'must be true or false').transform((value) => value === 'true');
const path = optional(z.string());

function integer(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

const roles = z.string().transform((value, context): readonly Role[] => {
  const names = value.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !ROLES.includes(name as Role));
  if (unknown.length > 0)
    context.addIssue(`has unknown roles: "${unknown.join('", "')}". The roles are ${ROLES.join(', ')}`);
  return Object.freeze(names as Role[]);
});

const namespace = z.string().transform((name, context) => {
  if (name === '' || name === NO_NAMESPACE) return null;
  if (!isNamespace(name)) context.addIssue('must be 1 to 32 lower-case letters, digits and inner hyphens');
  return name;
});

const HOUR_MS = 3_600_000;
/** A century. */
const DAYS_MAX = 36_500;
const MEBIBYTE = 1_048_576;

/** Values that no operator needs to change, each with its reason. Tests start a service with other values. */
const FIXED = Object.freeze({
  /** An attempt uses about 50 kB, so all of them use 13 MB. More attempts would only make receivers slower. */
  attemptsInFlightMax: 256,
  /** For clients' short queries, and as many for the worker thread. Few, because the pipeline also needs PostgreSQL. */
  questionConnectionsMax: 2,
  /** Changes in one transaction. More would cost more than the round trips that they save. */
  recordBatchMax: 256,
  recordBounds: Object.freeze<Record<'batchBytesMax' | 'advertsMax' | 'bytesMax' | 'waitingMax', number>>({
    /** The bytes of messages in a batch, and of large properties in a transaction: sixteen of the largest messages. */
    batchBytesMax: 16 * MEBIBYTE,
    /** Adverts of one property: more than any home has. At this size, a change is still recorded in milliseconds. */
    advertsMax: 200,
    /** The state of a property as JSON. At this size, recording a change takes a fifth of a second. */
    bytesMax: 8 * MEBIBYTE,
    /** Waiting changes of a property above a megabyte. They may arrive faster than they can be recorded. */
    waitingMax: 64,
  }),
  /** Ports of web servers. Ports of other system services are refused: a mail server would read a POST as commands. */
  endpointPorts: Object.freeze([
    { from: 80, to: 80 },
    { from: 443, to: 443 },
    { from: 1_024, to: 65_535 },
  ]),
  /**
   * If a bug affects more properties than this within the window, no single message is the cause. Intake then stops and
   * leaves leadership to other instances for half a minute. If the bug soon occurs again, the process ends.
   */
  breaker: Object.freeze({ propertiesMax: 10, windowMs: 600_000, restMs: 30_000 }),
  /**
   * The pauses before the retries after an error of unknown class. A transient error usually ends within half a minute;
   * a bug does not.
   */
  retryPausesMs: Object.freeze([2_000, 8_000, 20_000]),
  /** Distributions allow 10,000 file descriptors. This leaves room for connections to endpoints and servers. */
  apiConnectionsMax: 4_096,
  /** For a client without its own limits (`vigie admin clients set`). Most clients have some hundred searches. */
  searchLimits: Object.freeze({
    searches: 100_000,
    polygonCorners: 500_000,
    excludedWords: 100_000,
    matchesPerAdvert: 1_000,
  }),
});
/** The size of a burst, in seconds of the rate. A page of the console sends its reads at once, an import its writes. */
const READ_BURST_SECONDS = 2;
const WRITE_BURST_SECONDS = 4;

const settings = z.object({
  DATABASE_URL: optional(databaseUrl),
  NATS_URL: optional(natsServers),
  VIGIE_NATS_REPLICAS: z
    .enum(
      ['1', '3', '5'],
      'must be 1, 3 or 5, because an even number of copies tolerates no more lost servers than one fewer',
    )
    .transform(Number),
  VIGIE_NATS_PORT: integer(0, 65_535),
  VIGIE_DATA_DIR: path,
  VIGIE_ROLES: roles,
  VIGIE_NAMESPACE: namespace,
  VIGIE_API_ADDRESS: address,
  VIGIE_PUBLIC_URL: optional(url('http:', 'https:')),
  VIGIE_OPERATIONS_ADDRESS: address,
  VIGIE_ADMIN_ADDRESS: address,
  VIGIE_ADMIN_TOKEN: optional(z.string().min(16, 'must have at least 16 characters')),
  VIGIE_ADMIN_TLS_CERT: path,
  VIGIE_ADMIN_TLS_KEY: path,
  VIGIE_ADMIN_CLIENT_CA: path,
  VIGIE_RATE_LIMIT_PER_SECOND: integer(1, 1_000_000),
  VIGIE_WRITE_LIMIT_PER_SECOND: integer(1, 1_000_000),
  VIGIE_PROXY_ADDRESSES: addresses,
  VIGIE_CONSOLE: boolean,
  VIGIE_CONSOLE_PICTURES: boolean,
  VIGIE_MAP_TILES_URL: optional(tilesUrl),
  VIGIE_MAP_ATTRIBUTION: z.string().max(500, 'must have at most 500 characters'),
  VIGIE_ALLOW_PRIVATE_ENDPOINTS: boolean,
  VIGIE_SMTP_URL: optional(smtpServer),
  VIGIE_SMTP_TLS_CA: path,
  VIGIE_MAIL_FROM: optional(mailbox),
  VIGIE_MAIL_LANGUAGE: z.enum(['fr', 'en'], 'must be fr or en'),
  VIGIE_MAIL_CONSENT: optional(z.literal('required', 'must be "required" or empty')),
  VIGIE_MAIL_GATHER_MS: integer(0, HOUR_MS),
  VIGIE_RETRY_DELAY_MS: integer(1, 168 * HOUR_MS),
  VIGIE_CONNECT_TIMEOUT_MS: integer(1, HOUR_MS),
  VIGIE_ATTEMPT_TIMEOUT_MS: integer(1, HOUR_MS),
  VIGIE_DATABASE_CONNECTIONS_MAX: integer(4, 1_000),
  VIGIE_FEEDS_FILE: path,
  VIGIE_ENDPOINT_PAUSE_DAYS: integer(0, DAYS_MAX),
  VIGIE_RETENTION_DELIVERIES_DAYS: integer(0, DAYS_MAX),
  VIGIE_RETENTION_HISTORY_DAYS: integer(0, DAYS_MAX),
  VIGIE_DRAIN_ANNOUNCE_MS: integer(0, HOUR_MS),
  VIGIE_DRAIN_TIMEOUT_MS: integer(1, HOUR_MS),
  VIGIE_LOG_LEVEL: z.enum(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'must be fatal, error, warn, info, debug, trace or silent',
  ),
});

export type Config = ReturnType<typeof readConfig>;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Throws a `ConfigError` that names every invalid setting. The message repeats no secret. `defaults` override those of
 * the file.
 */
export function readConfig(environment: Environment = process.env, defaults: Environment = {}) {
  const file = parseEnv(readFileSync(DEFAULTS_FILE, 'utf8'));
  const values = { ...file, ...definedOnly(defaults), ...definedOnly(environment) };
  const parsed = settings.safeParse(values);
  const issues = parsed.error?.issues ?? [];
  const problems = [...issues.map(({ path, message }) => `${path.join('.')} ${message}`), ...mailProblems(values)];
  if (!parsed.success || problems.length > 0) {
    throw ConfigError.of(problems);
  }
  const setting = parsed.data;
  return Object.freeze({
    ...FIXED,
    ...serversOf(setting),
    dataDir: setting.VIGIE_DATA_DIR,
    roles: setting.VIGIE_ROLES,
    api: Object.freeze({
      ...setting.VIGIE_API_ADDRESS,
      publicUrl: setting.VIGIE_PUBLIC_URL,
      connectionsMax: FIXED.apiConnectionsMax,
      proxies: setting.VIGIE_PROXY_ADDRESSES,
    }),
    console: consoleOf(setting),
    operations: Object.freeze(setting.VIGIE_OPERATIONS_ADDRESS),
    admin: Object.freeze({
      ...setting.VIGIE_ADMIN_ADDRESS,
      token: setting.VIGIE_ADMIN_TOKEN,
      certificate: setting.VIGIE_ADMIN_TLS_CERT,
      privateKey: setting.VIGIE_ADMIN_TLS_KEY,
      clientAuthorities: setting.VIGIE_ADMIN_CLIENT_CA,
    }),
    rateLimit: rate(setting.VIGIE_RATE_LIMIT_PER_SECOND, READ_BURST_SECONDS),
    writeLimit: rate(setting.VIGIE_WRITE_LIMIT_PER_SECOND, WRITE_BURST_SECONDS),
    mail: mailOf(setting),
    mailLanguage: setting.VIGIE_MAIL_LANGUAGE,
    isMailConsentRequired: setting.VIGIE_MAIL_CONSENT !== null,
    allowPrivateEndpoints: setting.VIGIE_ALLOW_PRIVATE_ENDPOINTS,
    retryDelayMs: setting.VIGIE_RETRY_DELAY_MS,
    endpointPauseDays: setting.VIGIE_ENDPOINT_PAUSE_DAYS,
    connectTimeoutMs: setting.VIGIE_CONNECT_TIMEOUT_MS,
    attemptTimeoutMs: setting.VIGIE_ATTEMPT_TIMEOUT_MS,
    databaseConnectionsMax: setting.VIGIE_DATABASE_CONNECTIONS_MAX,
    feedsFile: setting.VIGIE_FEEDS_FILE,
    retentionDays: Object.freeze({
      events: setting.VIGIE_RETENTION_HISTORY_DAYS,
      deliveries: setting.VIGIE_RETENTION_DELIVERIES_DAYS,
      expired: setting.VIGIE_RETENTION_HISTORY_DAYS,
    }),
    drainAnnounceMs: setting.VIGIE_DRAIN_ANNOUNCE_MS,
    drainTimeoutMs: setting.VIGIE_DRAIN_TIMEOUT_MS,
    logLevel: setting.VIGIE_LOG_LEVEL,
    /** Unknown names with our prefix, for a warning. They are misspelt, or an orchestrator sets them. */
    unknownNames: Object.keys(environment).filter((name) => name.startsWith('VIGIE_') && !(name in settings.shape)),
  });
}

const ANY_CERTIFICATE = 'any';

/** The problems of settings that a configured mail server needs. */
function mailProblems(values: Environment): readonly string[] {
  if (!values.VIGIE_SMTP_URL) return [];
  const missing = ['VIGIE_MAIL_FROM', 'VIGIE_PUBLIC_URL'].filter((name) => !values[name]);
  const problems = missing.map((name) => `${name} must be set when VIGIE_SMTP_URL is set`);
  const hasPassword = URL.canParse(values.VIGIE_SMTP_URL) && new URL(values.VIGIE_SMTP_URL).password !== '';
  if (values.VIGIE_SMTP_TLS_CA === ANY_CERTIFICATE && hasPassword) {
    problems.push(
      `VIGIE_SMTP_TLS_CA=${ANY_CERTIFICATE} would expose the password of VIGIE_SMTP_URL. ` +
        'Name the authority of the mail server instead',
    );
  }
  return problems;
}

function serversOf(setting: z.output<typeof settings>) {
  return {
    databaseUrl: setting.DATABASE_URL,
    natsUrl: setting.NATS_URL,
    natsReplicas: setting.VIGIE_NATS_REPLICAS,
    natsPort: setting.VIGIE_NATS_PORT,
    namespace: setting.VIGIE_NAMESPACE,
  };
}

/** Null without a mail server. */
function mailOf(setting: z.output<typeof settings>) {
  const [url, from, publicUrl] = [setting.VIGIE_SMTP_URL, setting.VIGIE_MAIL_FROM, setting.VIGIE_PUBLIC_URL];
  if (url === null || from === null || publicUrl === null) return null;
  const isTlsInsecure = setting.VIGIE_SMTP_TLS_CA === ANY_CERTIFICATE;
  return Object.freeze({
    url,
    from: mailboxOf(from),
    publicUrl,
    gatherMs: setting.VIGIE_MAIL_GATHER_MS,
    authoritiesFile: isTlsInsecure ? null : setting.VIGIE_SMTP_TLS_CA,
    isTlsInsecure,
  });
}

/** Null if the console is disabled. */
function consoleOf(setting: z.output<typeof settings>) {
  if (!setting.VIGIE_CONSOLE) return null;
  return Object.freeze({
    showsPictures: setting.VIGIE_CONSOLE_PICTURES,
    tilesUrl: setting.VIGIE_MAP_TILES_URL,
    tilesAttribution: setting.VIGIE_MAP_ATTRIBUTION,
  });
}

function rate(perSecond: number, burstSeconds: number) {
  return Object.freeze({ perSecond, burst: perSecond * burstSeconds });
}

function definedOnly(environment: Environment): Record<string, string> {
  const known = Object.keys(settings.shape);
  return Object.fromEntries(
    known.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name].trim()]])),
  );
}
