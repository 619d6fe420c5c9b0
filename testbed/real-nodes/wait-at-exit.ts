/** Waits without leaving the caller: the last handler of a process that exits has no other way. Answers whether it came true. */
export function waitAtExit(withinMs: number, isTrue: () => boolean): boolean {
  const deadline = Date.now() + withinMs;
  while (!isTrue()) {
    if (Date.now() > deadline) return false;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  return true;
}
