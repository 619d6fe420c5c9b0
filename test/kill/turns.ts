/** Lets one caller after the other do something. */
export type Turn = <T>(task: () => Promise<T>) => Promise<T>;

export function takeTurns(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const mine = last.then(task);
    last = mine.catch(() => undefined);
    return mine;
  };
}
