/** Runs tasks one after the other, in the order of the calls. */
export type Turn = <T>(task: () => Promise<T>) => Promise<T>;

export function takeTurns(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const mine = last.then(task);
    last = mine.catch(() => undefined);
    return mine;
  };
}
