import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readProgress } from '../../faults/progress/progress-file.ts';
import { textOf } from '../architecture/sources.ts';

const page = textOf('docs/progress.md');
const block = (language: string): string => new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(page)?.[1] ?? '';
const snippet = block('python');
/** The calls that the page shows. */
const training = `
report(step=41, at=now())
report("checkpointing")
report(checkpointStep=41, checkpointAt=now())
report(step=42, at=now())
`;

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kcover-progress-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** As in a pod with these variables, and no others of kcover. */
function train(env: Record<string, string>): string[] {
  const { status, stderr } = spawnSync('python3', ['-c', snippet + training], {
    encoding: 'utf8',
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      PROGRESS_DIR: directory,
      JOB_NAME: 'llm',
      ...env,
    },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return readdirSync(directory);
}

/** As torchrun sets them for one of eight processes in the third of four pods. */
const torchrun = (local: number) => ({
  RANK: String(16 + local),
  LOCAL_RANK: String(local),
  GROUP_RANK: '2',
  WORLD_SIZE: '32',
});

describe('the lines for a trainer on the page about progress', () => {
  it('write a valid file, under the name for a pod of this rank', () => {
    expect(train({ REPLICA_INDEX: '0' })).toEqual(['llm-0.json']);
    expect(readProgress(readFileSync(join(directory, 'llm-0.json'), 'utf8'))).toMatchObject({
      kind: 'progress',
      progress: { step: 42, checkpointStep: 41, phase: 'training' },
    });
  });

  it('count pods and not processes under torchrun', () => {
    expect(train({ REPLICA_INDEX: '1', RANK_OFFSET: '1', ...torchrun(0) })).toEqual(['llm-2.json']);
  });

  it('write the file from one process of the pod only', () => {
    expect(train({ REPLICA_INDEX: '1', RANK_OFFSET: '1', ...torchrun(5) })).toEqual([]);
  });

  it('need only variables that the pod example sets', () => {
    const { containers, volumes } = parse(block('yaml')) as {
      readonly containers: readonly { readonly env: readonly { readonly name: string }[] }[];
      readonly volumes: readonly { readonly hostPath: { readonly path: string } }[];
    };
    const needed = [...snippet.matchAll(/os\.environ\[["'](\w+)["']\]/g)].map(([, name]) => name);
    expect(needed).not.toEqual([]);
    expect(containers[0]?.env.map(({ name }) => name)).toEqual(expect.arrayContaining(needed));
    expect(volumes[0]?.hostPath.path).toBe('/var/lib/kcover/progress/train');
  });
});
