/** `vigie admin`: the calls of the administration interface on the command line. */

import { readConfig } from '../../config.ts';
import type { Input, Command as PlainCommand } from '../command.ts';
import { type ConnectionFlags, connectAdmin } from './client.ts';
import type { Command } from './command.ts';
import { DEAD_LETTER_COMMANDS } from './dead-letter-commands.ts';
import { DELIVERY_COMMANDS } from './delivery-commands.ts';
import { EXPLANATION_COMMANDS } from './explanation-commands.ts';
import { FEED_COMMANDS } from './feed-commands.ts';
import { RECOVERY_COMMANDS } from './recovery-commands.ts';
import { REFERENCE_COMMANDS } from './reference-commands.ts';
import { SERVICE_COMMANDS } from './service-commands.ts';

export const ADMIN_COMMANDS: readonly PlainCommand[] = [
  ...SERVICE_COMMANDS,
  ...EXPLANATION_COMMANDS,
  ...DELIVERY_COMMANDS,
  ...RECOVERY_COMMANDS,
  ...FEED_COMMANDS,
  ...DEAD_LETTER_COMMANDS,
  ...REFERENCE_COMMANDS,
].map((command) => ({ ...command, run: (input) => runConnected(command, input) }));

async function runConnected(command: Command, input: Input): Promise<void> {
  input.whole('timeout');
  const client = await connectAdmin(readConfig(), input.values as unknown as ConnectionFlags);
  try {
    await command.run(client, input);
  } finally {
    client.stub.close();
  }
}
