import { spawn } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const generate = fileURLToPath(new URL('../../scripts/generate.ts', import.meta.url));

describe('the reference pages', () => {
  it('are up to date with the code', async () => {
    const child = spawn(process.execPath, [generate, '--check'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said, code] = await Promise.all([text(child.stdout), new Promise((resolve) => child.on('close', resolve))]);
    expect({ said, code }).toEqual({ said: '', code: 0 });
  });
});
