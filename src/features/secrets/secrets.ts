/** Secrets of clients that sign all their webhooks: how they are made and ended. The engine signs with those that there are. */

import type { Feature } from '../../feature.ts';
import { SECRET_CONTRACT, secretRoutes } from './secret-routes.ts';
import { removeWebhookSecrets } from './secret-rows.ts';

export const secrets: Feature = {
  name: 'secrets',
  async *forget(database) {
    yield { webhook_secrets: await removeWebhookSecrets(database) };
  },
  contract: SECRET_CONTRACT,
  routes: secretRoutes,
};
