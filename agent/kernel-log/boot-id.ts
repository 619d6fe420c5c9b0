import { readHostFile } from '../host-root.ts';

/** The id that the kernel drew at its start, at most 64 characters. */
export async function readBootId(hostRoot: string): Promise<string> {
  const text = await readHostFile(hostRoot, '/proc/sys/kernel/random/boot_id', 256);
  return text.trim().slice(0, 64);
}
