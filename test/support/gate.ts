/** A promise that a test resolves when it has seen enough; code under test waits for it. */

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
