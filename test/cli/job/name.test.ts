import { describe, expect, it } from '@jest/globals';
import { parseJobName } from '../../../cli/job/name.ts';
import { KcoverError } from '../../../contract/errors.ts';

const names: readonly (readonly [sentence: string, text: string, expected: object])[] = [
  ['a kind in the singular', 'pytorchjob/llm', { kind: 'PyTorchJob', name: 'llm' }],
  ['a kind in the plural', 'pytorchjobs/llm', { kind: 'PyTorchJob', name: 'llm' }],
  ['a kind with its group', 'pytorchjobs.kubeflow.org/llm', { kind: 'PyTorchJob', name: 'llm' }],
  ['a kind with version and group', 'pytorchjob.v1.kubeflow.org/llm', { kind: 'PyTorchJob', name: 'llm' }],
  ['a kind as manifests write it', 'PyTorchJob/llm', { kind: 'PyTorchJob', name: 'llm' }],
  ['a batch job', 'job/x', { kind: 'Job', name: 'x' }],
  ['batch jobs with their group', 'JOBS.batch/x-1', { kind: 'Job', name: 'x-1' }],
  ['another version of a kind', 'mpijobs.v2beta1.kubeflow.org/llm', { kind: 'MPIJobV2beta1', name: 'llm' }],
  ['a kind of another group that has the same name', 'job.batch.volcano.sh/llm', { kind: 'VolcanoJob', name: 'llm' }],
  ['a name with dots', 'job/nightly.2026', { kind: 'Job', name: 'nightly.2026' }],
];

const refused: readonly (readonly [sentence: string, text: string])[] = [
  ['a name without a kind', 'llm'],
  ['a kind without a name', 'pytorchjob/'],
  ['a kind that is not known', 'sparkjob/llm'],
  ['a kind of another group', 'jobs.kubeflow.org/llm'],
  ['one word too many', 'train/pytorchjob/llm'],
  ['a name that leaves its path', 'job/..'],
  ['a name in capitals', 'job/LLM'],
  ['nothing', ''],
];

describe('a job on the command line', () => {
  it.each(names)('can be %s', (_sentence, text, expected) => {
    expect(parseJobName(text)).toEqual(expected);
  });

  it.each(refused)('cannot be %s', (_sentence, text) => {
    const parse = () => parseJobName(text);
    expect(parse).toThrow(KcoverError);
    expect(parse).toThrow(
      expect.objectContaining({
        code: 'usage',
        advice: expect.stringMatching(/^one of pytorchjob\/NAME, .+, trainjob\/NAME.*$/),
      }),
    );
  });
});
