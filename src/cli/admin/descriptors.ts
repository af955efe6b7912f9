/** What the .proto files say of the service's methods, comments included: the commands are made of it. */

import { readFileSync } from 'node:fs';
import { createFileRegistry, type DescField, type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const SERVICE = 'vigie.admin.v1.AdminService';
const FILE = new URL('../../grpc/generated/descriptors.binpb', import.meta.url);
/** Numbers of `service`, `message_type`, `method` and `field` in their messages: a comment is found by their path. */
const [SERVICES, MESSAGES, MEMBERS] = [6, 4, 2];

export const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(FILE)));

/** Throws where the service has no such method. */
export function methodNamed(name: string): DescMethod {
  const method = registry.getService(SERVICE)?.methods.find((each) => each.name === name);
  if (method === undefined) throw new Error(`${SERVICE} has no method ${name}`);
  return method;
}

export function pathOf({ parent, name }: Pick<DescMethod, 'parent' | 'name'>): string {
  return `/${parent.typeName}/${name}`;
}

/** On one line; empty where the files say nothing. */
export function commentOf(desc: DescMethod | DescField): string {
  const { proto } = desc.parent.file;
  const path =
    desc.kind === 'rpc'
      ? [SERVICES, proto.service.indexOf(desc.parent.proto), MEMBERS, desc.parent.proto.method.indexOf(desc.proto)]
      : [MESSAGES, proto.messageType.indexOf(desc.parent.proto), MEMBERS, desc.parent.proto.field.indexOf(desc.proto)];
  return commentAt(proto, path.join('.'));
}

function commentAt({ sourceCodeInfo }: FileDescriptorProto, path: string): string {
  const found = sourceCodeInfo?.location.find((location) => location.path.join('.') === path);
  return (found?.leadingComments ?? '').replaceAll(/\s+/g, ' ').trim();
}
