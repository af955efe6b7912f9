/** Ends a union: the compiler refuses the call while a variant is left unhandled. */
export function unreachable(value: never): never {
  throw new Error(`unreachable variant: ${JSON.stringify(value)}`);
}
