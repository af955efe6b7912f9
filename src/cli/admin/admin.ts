/** `vigie admin`: the calls of the administration interface on the command line. */

import { readConfig } from '../../config.ts';
import type { Input, Command as PlainCommand } from '../command.ts';
import { type ConnectionFlags, connectAdmin } from './client.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';

export const ADMIN_COMMANDS: readonly PlainCommand[] = COMMANDS.map((command) => ({
  ...command,
  run: (input) => runConnected(command, input),
}));

async function runConnected(command: Command, input: Input): Promise<void> {
  input.whole('timeout');
  const client = await connectAdmin(readConfig(), input.values as unknown as ConnectionFlags);
  try {
    await command.run(client, input);
  } finally {
    client.channel.close();
  }
}
