/** Waits synchronously: the last handler of a process that exits cannot wait otherwise. Returns whether the condition came true. */
export function waitAtExit(withinMs: number, isTrue: () => boolean): boolean {
  const deadline = Date.now() + withinMs;
  while (!isTrue()) {
    if (Date.now() > deadline) return false;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  return true;
}
