/** The features beside the engine. Features never import each other. */

import type { Feature } from './feature.ts';
import { mail } from './features/mail/mail.ts';

export const FEATURES: readonly Feature[] = [mail];
