import { CancellationScope, condition } from '@temporalio/workflow';

/** Waits for `wait`, unless something changes first: then the wait is cancelled. */
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
