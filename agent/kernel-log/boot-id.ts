import { readHostFile } from '../host-root.ts';

/** The kernel's random id of this boot, at most 64 characters. */
export async function readBootId(hostRoot: string): Promise<string> {
  const text = await readHostFile(hostRoot, '/proc/sys/kernel/random/boot_id', 256);
  return text.trim().slice(0, 64);
}
