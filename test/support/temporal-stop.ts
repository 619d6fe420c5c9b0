export default async function stop(): Promise<void> {
  await (globalThis as { stopTemporal?: () => Promise<void> }).stopTemporal?.();
}
