import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const parts = join(import.meta.dirname, '../../testbed/parts/debian.ts');
const ask = `const { requireRoot } = await import(${JSON.stringify(parts)}); if (process.getuid() === 0) process.setuid(65534); requireRoot('start real nodes');`;

describe('real nodes', () => {
  it('are refused to users other than root, with the reason and what to do', () => {
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', ask], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toContain('cannot start real nodes\n  because: mounts, namespaces and cgroups need root');
    expect(stderr).toContain('try:     run the same command as root');
  });
});
