import { CancellationScope, condition } from '@temporalio/workflow';

/** What is waited for, unless there is news first: then the wait is called off. */
export async function unlessChanged<T>(hasChanged: () => boolean, wait: () => Promise<T>): Promise<T | 'changed'> {
  if (hasChanged()) return 'changed';
  const scope = new CancellationScope();
  const waiting = scope.run(wait).then((value) => ({ value }));
  const seen = await Promise.race([waiting, condition(hasChanged)]);
  if (seen !== undefined) return seen.value;
  scope.cancel();
  await waiting.catch(() => undefined);
  return 'changed';
}
