/**
 * Derives commands from the methods in the .proto files. The fields of a request become the options of the command,
 * with the fields' comments as help. The given options become the request, as protobuf JSON. Some options have another
 * name than their field.
 */

import { readFileSync } from 'node:fs';
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { urlKeyOf } from '../../engine/domain/endpoint.ts';
import { parseUuid } from '../../engine/domain/ids.ts';
import { flag, type Input, type Option, type Options, UsageError, valued } from '../command.ts';

const FLAGS: Readonly<Record<string, string>> = {
  page_size: 'limit',
  start_time: 'since',
  end_time: 'until',
  validate_only: 'dry-run',
  kind: 'event',
  advert_url: 'url',
  include_body: 'body',
  paused_only: 'paused',
  failures_only: 'failures',
  include_delivered: 'delivered',
  rate_limit_per_second: 'per-second',
  rate_limit_burst: 'burst',
  write_limit_per_second: 'writes-per-second',
  write_limit_burst: 'writes-burst',
  searches_max: 'searches',
  polygon_corners_max: 'polygon-corners',
  excluded_words_max: 'excluded-words',
  matches_per_advert_max: 'matches-per-advert',
};
const INT32_MAX = 2_147_483_647;
const TIME = 'google.protobuf.Timestamp';

export interface RequestField {
  readonly option: string;
  readonly field: DescField;
  /** The nested message of the request that contains the field, e.g. a filter; null for the request itself. */
  readonly within: DescField | null;
}

/** The fields that become options: those of the request and those of its nested messages. */
export function fieldsOf(request: DescMessage, omitted: readonly string[]): readonly RequestField[] {
  return request.fields.flatMap((field): readonly RequestField[] => {
    if (omitted.includes(field.name)) return [];
    if (field.fieldKind !== 'message' || field.message.typeName === TIME) {
      return [{ option: optionOf(field), field, within: null }];
    }
    return fieldsOf(field.message, omitted).map((inner) => ({ ...inner, within: field }));
  });
}

function optionOf({ name }: DescField): string {
  return FLAGS[name] ?? name.replaceAll('_', '-');
}

export function optionsOf(fields: readonly RequestField[]): Options {
  return Object.fromEntries(fields.map(({ option, field }) => [option, optionFor(field)]));
}

function optionFor(field: DescField): Option {
  const comment = commentOf(field);
  const summary = `${comment.charAt(0).toLowerCase()}${comment.slice(1)}`.replace(/\.$/, '');
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL) return flag(summary);
  if (field.fieldKind === 'message')
    return valued('TIME', `${summary}: ISO 8601, or an age such as 90s, 15m, 2h or 7d`);
  if (field.fieldKind === 'enum')
    return valued(field.enum.name.toUpperCase(), `${summary}: ${statesOf(field).join(', ')}`);
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.INT32) return valued('N', summary);
  return valued(collectionOf(field) === null ? 'TEXT' : 'ID', summary);
}

function statesOf(field: DescField & { fieldKind: 'enum' }): readonly string[] {
  return field.enum.values
    .slice(1)
    .map(({ localName, name }) => (localName || name).replace(/^STATE_/, '').toLowerCase());
}

/** Creates a request with only the given options. Throws `UsageError`. */
export function requestOf(fields: readonly RequestField[], input: Input): JsonObject {
  const request: Record<string, JsonValue> = {};
  for (const { option, field, within } of fields) {
    if (input.values[option] === undefined) continue;
    const value = valueOf(field, option, input);
    put(request, within, field, value);
  }
  return request;
}

export function put(request: Record<string, JsonValue>, within: DescField | null, field: DescField, value: JsonValue) {
  const outer = within === null ? request : ((request[within.jsonName] ??= {}) as Record<string, JsonValue>);
  outer[field.jsonName] = value;
}

function valueOf(field: DescField, option: string, input: Input): JsonValue {
  const text = input.text(option);
  if (field.fieldKind === 'message') return input.time(option)?.toISOString() ?? null;
  if (field.fieldKind === 'enum') {
    if (!statesOf(field).includes(text.toLowerCase()))
      throw new UsageError(`--${option} must be one of ${statesOf(field).join(', ')}.`);
    return `STATE_${text.toUpperCase()}`;
  }
  if (field.fieldKind === 'list') return text.split(',').map((part) => nameOf(field, part));
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL) return input.flag(option);
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.INT32) return numberOf(field, option, input);
  return nameOf(field, text);
}

/** The word `default` clears an optional field, which is then sent as null. */
function numberOf(field: DescField, option: string, input: Input): JsonValue {
  if (!field.proto.proto3Optional) return input.whole(option);
  if (input.text(option) === 'default') return null;
  const number = /^\d{1,10}$/.test(input.text(option)) ? Number(input.text(option)) : Number.NaN;
  if (!(number <= INT32_MAX)) throw new UsageError(`--${option} takes a whole number or the word default.`);
  return number;
}

/** Completes an id or an endpoint's URL to a resource name. Keeps resource names, clients' display names, and texts. */
export function nameOf(field: DescField, text: string): string {
  const collection = collectionOf(field);
  if (collection === null || text.startsWith(`${collection}/`)) return text;
  if (collection === 'endpoints' && /^https?:\/\//.test(text)) return `endpoints/${urlKeyOf(text)}`;
  const takesName = field.name === 'client' || /display name/.test(commentOf(field));
  if (collection === 'clients' && takesName && parseUuid(text) === null) return text;
  return `${collection}/${text}`;
}

/** Returns `searches` for a field whose comment contains `searches/{search}`. */
function collectionOf(field: DescField): string | null {
  return /`(\w+)\/\{/.exec(commentOf(field))?.[1] ?? null;
}

const SERVICE = 'vigie.admin.v1.AdminService';
const FILE = new URL('../../grpc/generated/descriptors.binpb', import.meta.url);
/** Field numbers in descriptor.proto of `service`, `message_type`, and `method` or `field`, in paths of comments. */
const [SERVICES, MESSAGES, MEMBERS] = [6, 4, 2];

export const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(FILE)));

/** Throws if the service has no such method. */
export function methodNamed(name: string): DescMethod {
  const method = registry.getService(SERVICE)?.methods.find((each) => each.name === name);
  if (method === undefined) throw new Error(`${SERVICE} has no method ${name}`);
  return method;
}

export function pathOf({ parent, name }: Pick<DescMethod, 'parent' | 'name'>): string {
  return `/${parent.typeName}/${name}`;
}

/** The comment as one line; empty if there is none. */
export function commentOf(desc: DescMethod | DescField): string {
  const { proto } = desc.parent.file;
  const path =
    desc.kind === 'rpc'
      ? [SERVICES, proto.service.indexOf(desc.parent.proto), MEMBERS, desc.parent.proto.method.indexOf(desc.proto)]
      : [MESSAGES, proto.messageType.indexOf(desc.parent.proto), MEMBERS, desc.parent.proto.field.indexOf(desc.proto)];
  const wanted = path.join('.');
  const location = proto.sourceCodeInfo?.location.find((each) => each.path.join('.') === wanted);
  return (location?.leadingComments ?? '').replaceAll(/\s+/g, ' ').trim();
}
