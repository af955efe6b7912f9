/** Who may call: the bearer token, compared in constant time, for everything but the health service. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { ResponderBuilder, ServerInterceptingCall, type ServerInterceptor, ServerListenerBuilder } from '@grpc/grpc-js';
import { statusOf, unauthenticated } from './errors.ts';

const HEALTH = '/grpc.health.v1.Health/';
const BEARER = /^bearer +(\S+)$/i;

/** `onRefused` is told of each call with a missing or wrong token. */
export function requireToken(token: string, onRefused: (method: string, peer: string) => void): ServerInterceptor {
  const expected = digestOf(token);
  return (method, call) => {
    if (method.path.startsWith(HEALTH)) return new ServerInterceptingCall(call);
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        const [, sent = ''] = BEARER.exec(String(metadata.get('authorization')[0] ?? '')) ?? [];
        if (timingSafeEqual(digestOf(sent), expected)) return next(metadata);
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
