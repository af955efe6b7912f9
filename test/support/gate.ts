/** A promise on which the code under test waits until the test opens the gate. */

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
