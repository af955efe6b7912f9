/** A promise that a test resolves: what waits for it goes on when the test has seen enough. */

export interface Gate {
  readonly gate: Promise<void>;
  readonly open: () => void;
}

export function createGate(): Gate {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { gate, open };
}
