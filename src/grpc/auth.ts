/**
 * Who may call: the bearer token, compared in constant time, for everything but the health service. Where none is
 * asked for, a certificate was.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { ResponderBuilder, ServerInterceptingCall, type ServerInterceptor, ServerListenerBuilder } from '@grpc/grpc-js';
import { statusOf, unauthenticated } from './errors.ts';
import { isHealthCall } from './health.ts';

const BEARER = /^bearer +(\S+)$/i;

export interface Doorman {
  /** The peer, `address:port`, may call. */
  readonly onAdmitted: (peer: string) => void;
  /** A call came with a missing or wrong token. */
  readonly onRefused: (method: string, peer: string) => void;
}

/** `token` null: whoever gets here may call. */
export function requireToken(token: string | null, { onAdmitted, onRefused }: Doorman): ServerInterceptor {
  const expected = token === null ? null : digestOf(token);
  return (method, call) => {
    if (isHealthCall(method.path)) return new ServerInterceptingCall(call);
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        const [, sent = ''] = BEARER.exec(String(metadata.get('authorization')[0] ?? '')) ?? [];
        if (expected === null || timingSafeEqual(digestOf(sent), expected)) {
          onAdmitted(call.getPeer());
          return next(metadata);
        }
        onRefused(method.path, call.getPeer());
        call.sendStatus(statusOf(unauthenticated()));
      })
      .build();
    return new ServerInterceptingCall(call, new ResponderBuilder().withStart((next) => next(listener)).build());
  };
}

/** Equal lengths, whatever was sent. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
