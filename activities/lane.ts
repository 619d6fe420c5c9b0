/** Requests that arrive while one is under way travel together in the next. */

import DataLoader from 'dataloader';

const mostTogether = 100;

/** A call for one item over a call for many, of which there is never more than one in flight. Answers come in the order of the items. */
export function oneAtATime<Item, Answer>(callForMany: (items: readonly Item[]) => Promise<readonly Answer[]>): (item: Item) => Promise<Answer> {
  let underWay: Promise<unknown> = Promise.resolve();
  let lane: Promise<unknown> = Promise.resolve();
  const loader = new DataLoader<Item, Answer>(
    (items) => {
      const answers = callForMany(items);
      underWay = answers.catch(() => undefined);
      return answers;
    },
    {
      cache: false,
      maxBatchSize: mostTogether,
      // The batch stays open until the one before it is answered.
      batchScheduleFn: (dispatch) => {
        lane = lane.then(() => {
          dispatch();
          return underWay;
        });
      },
    },
  );
  return (item) => loader.load(item);
}

/** A read that all who ask for it while one is under way share the next of: no answer is older than its question. */
export function together<Answer>(read: () => Promise<Answer>): () => Promise<Answer> {
  const ask = oneAtATime<true, Answer>(async (asked) => {
    const answer = await read();
    return asked.map(() => answer);
  });
  return () => ask(true);
}
