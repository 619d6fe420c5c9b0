import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { testServers } from '../support/rig.ts';

describe('the bundle that workers run', () => {
  const code = readFileSync(testServers().workflowBundle, 'utf8');
  const map = JSON.parse(
    Buffer.from(/sourceMappingURL=data:[^,]+,(.*)$/m.exec(code)?.[1] ?? '', 'base64').toString(),
  ) as {
    readonly sources: readonly string[];
  };

  it('holds the workflows', () => {
    expect(map.sources.filter((source) => source.endsWith('workflows/recovery/index.ts'))).toHaveLength(1);
  });

  it('holds no zod: each cached workflow would carry its 600 KB', () => {
    expect(map.sources.filter((source) => source.includes('/zod/') || source.endsWith('.schema.ts'))).toEqual([]);
    expect(code).not.toContain('ZodError');
  });
});
