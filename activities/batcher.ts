/** Requests that arrive while one is under way are sent together in the next. */

import DataLoader from 'dataloader';

const batchSizeLimit = 100;

/** Turns a call for many items into a call for one; never more than one call is in flight. Answers come in the order of the items. */
export function createBatcher<Item, Answer>(
  callForMany: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  let underWay: Promise<unknown> = Promise.resolve();
  let queue: Promise<unknown> = Promise.resolve();
  const loader = new DataLoader<Item, Answer>(
    (items) => {
      const answers = callForMany(items);
      underWay = answers.catch(() => undefined);
      return answers;
    },
    {
      cache: false,
      maxBatchSize: batchSizeLimit,
      // The batch stays open until the previous one is answered.
      batchScheduleFn: (dispatch) => {
        queue = queue.then(() => {
          dispatch();
          return underWay;
        });
      },
    },
  );
  return (item) => loader.load(item);
}

/** Callers that ask while a read is under way share the next one: no answer is older than its question. */
export function coalesce<Answer>(read: () => Promise<Answer>): () => Promise<Answer> {
  const ask = createBatcher<true, Answer>(async (asked) => {
    const answer = await read();
    return asked.map(() => answer);
  });
  return () => ask(true);
}
