import type { World } from '../../testbed/world.ts';

export default async function stop(): Promise<void> {
  await (globalThis as { world?: World }).world?.stop();
}
