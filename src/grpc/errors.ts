/**
 * Errors of the interface: a gRPC code, a message for people, and details for programs. The details are in the trailer
 * `grpc-status-details-bin` (google.rpc.Status, as in the richer error model of gRPC).
 */

import { Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { cut } from '../engine/domain/text.ts';
import { BadRequest, ErrorInfo, PreconditionFailure, ResourceInfo } from './generated/google/rpc/error_details.ts';
import { Status } from './generated/google/rpc/status.ts';

type Code = (typeof status)[keyof typeof status];

interface Detail {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

const DOMAIN = 'vigie';

export class AdminError extends Error {
  readonly code: Code;
  readonly details: readonly Detail[];

  /** `reason`: a constant in capitals on which programs may rely. */
  constructor(code: Code, reason: string, message: string, details: readonly Detail[] = []) {
    super(cut(message, DESCRIPTION_LENGTH_MAX));
    this.code = code;
    this.details = [
      detail('ErrorInfo', ErrorInfo.encode({ reason, domain: DOMAIN, metadata: {} }).finish()),
      ...details,
    ];
  }
}

/** Maximum length of the caller's text in an error. */
const QUOTED_LENGTH_MAX = 200;
/** Clients accept trailers of 8 KiB. A trailer contains the description three times, escaped or in base64. */
const DESCRIPTION_LENGTH_MAX = 400;

/** Shortens a caller's text for an error. */
export function quoted(text: string): string {
  return cut(text, QUOTED_LENGTH_MAX);
}

function detail(type: string, value: Uint8Array): Detail {
  return { typeUrl: `type.googleapis.com/google.rpc.${type}`, value };
}

export function invalidArgument(field: string, description: string): AdminError {
  const fieldViolations = [{ field, description: cut(description, DESCRIPTION_LENGTH_MAX) }];
  return new AdminError(status.INVALID_ARGUMENT, 'INVALID_ARGUMENT', `${field} ${description}`, [
    detail('BadRequest', BadRequest.encode({ fieldViolations }).finish()),
  ]);
}

export function notFound(
  resourceType: string,
  resourceName: string,
  description = `There is no ${quoted(resourceName)}.`,
): AdminError {
  return aboutResource(status.NOT_FOUND, 'NOT_FOUND', resourceType, resourceName, description);
}

export function alreadyExists(resourceType: string, resourceName: string, description: string): AdminError {
  return aboutResource(status.ALREADY_EXISTS, 'ALREADY_EXISTS', resourceType, resourceName, description);
}

function aboutResource(code: Code, reason: string, resourceType: string, resourceName: string, description: string) {
  const shown = cut(description, DESCRIPTION_LENGTH_MAX);
  const resource = { resourceType, resourceName: quoted(resourceName), owner: '', description: shown };
  return new AdminError(code, reason, description, [detail('ResourceInfo', ResourceInfo.encode(resource).finish())]);
}

/** The request is valid, but the state of `subject` does not permit it. */
export function failedPrecondition(reason: string, subject: string, description: string): AdminError {
  const violations = [
    { type: reason, subject: quoted(subject), description: cut(description, DESCRIPTION_LENGTH_MAX) },
  ];
  return new AdminError(status.FAILED_PRECONDITION, reason, description, [
    detail('PreconditionFailure', PreconditionFailure.encode({ violations }).finish()),
  ]);
}

export const deadlineExceeded = (): AdminError =>
  new AdminError(status.DEADLINE_EXCEEDED, 'DEADLINE_EXCEEDED', 'The call exceeded its deadline. Set a later one.');
export const cancelled = (): AdminError => new AdminError(status.CANCELLED, 'CANCELLED', 'The caller cancelled.');
export const unauthenticated = (): AdminError =>
  new AdminError(status.UNAUTHENTICATED, 'TOKEN_INVALID', 'No valid token. Send `authorization: Bearer <token>`.');
export const internalError = (): AdminError =>
  new AdminError(status.INTERNAL, 'INTERNAL', 'An internal error occurred. See the log of the server.');
export const unavailable = (what: string): AdminError =>
  new AdminError(status.UNAVAILABLE, 'UNAVAILABLE', `${what} cannot be reached at the moment. Try again later.`);
export const instanceStopping = (): AdminError =>
  new AdminError(
    status.UNAVAILABLE,
    'UNAVAILABLE',
    'This instance is stopping. Send the call again to another instance, or retry after the restart.',
  );
export const senderTooSlow = (): AdminError =>
  new AdminError(
    status.ABORTED,
    'SENDER_TOO_SLOW',
    'No message arrived in time, and the call was rolled back. Repeat the call.',
  );
export const exhausted = (reason: string, message: string): AdminError =>
  new AdminError(status.RESOURCE_EXHAUSTED, reason, message);

/** Converts an error to the form of grpc-js. */
export function statusOf({ code, message, details }: AdminError): StatusObject {
  const metadata = new Metadata();
  const body = Status.encode({
    code,
    message,
    details: details.map(({ typeUrl, value }) => ({ typeUrl, value: Buffer.from(value) })),
  });
  metadata.set('grpc-status-details-bin', Buffer.from(body.finish()));
  return { code, details: message, metadata };
}
