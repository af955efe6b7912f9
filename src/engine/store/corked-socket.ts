/** What one tick of the event loop writes goes out together. */

import { Socket } from 'node:net';

/**
 * The client library corks each statement by itself, so ten statements sent without waiting for each other's answers
 * were ten system calls, and woke the server ten times. Here a cork lasts until the tick has ended.
 */
export class CorkedSocket extends Socket {
  #isHolding = false;

  override cork(): void {
    super.cork();
    if (this.#isHolding) return;
    this.#isHolding = true;
    super.cork();
    process.nextTick(() => {
      this.#isHolding = false;
      this.uncork();
    });
  }
}
