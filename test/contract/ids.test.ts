import { describe, expect, it } from '@jest/globals';
import { KcoverError } from '../../contract/errors.ts';
import {
  jobWorkflowId,
  nodeWorkflowId,
  preflightWorkflowId,
  quarantineId,
  recoveryId,
  recoveryIdPrefix,
  recoveryWithoutUid,
} from '../../contract/ids.ts';
import { quoted } from '../../contract/wire/visibility.ts';
import { forgedNames, forgedUids } from '../support/forged-names.ts';

const job = { namespace: 'train', name: 'llm', uid: '0b1c' };
const at = Date.parse('2026-11-21T07:09:03.117Z');

const ofJobs = {
  jobWorkflowId,
  preflightWorkflowId,
  recoveryIdPrefix,
  recoveryId: (of: typeof job) => recoveryId(of, at),
};
const ofNodes = { nodeWorkflowId, quarantineId: (node: string) => quarantineId(node, at) };

describe.each(Object.entries(ofJobs))('%s', (_, idOf) => {
  it('has namespace, name and UID between slashes', () => {
    expect(idOf(job).split('/').slice(1, 4)).toEqual(['train', 'llm', '0b1c']);
  });

  it.each(forgedNames)('is refused where a name is %s', (__, text) => {
    expect(() => idOf({ ...job, name: text })).toThrow(KcoverError);
    expect(() => idOf({ ...job, namespace: text })).toThrow(KcoverError);
  });

  it.each(forgedUids)('is refused where the UID is %s', (__, uid) => {
    expect(() => idOf({ ...job, uid })).toThrow(KcoverError);
  });
});

describe.each(Object.entries(ofNodes))('%s', (_, idOf) => {
  it('has the name of the node', () => {
    expect(idOf('gpu-7.example').split('/')[1]).toBe('gpu-7.example');
  });

  it.each(forgedNames)('is refused where the name is %s', (__, text) => {
    expect(() => idOf(text)).toThrow(KcoverError);
  });
});

it('a recovery without the UID of its job still is one and no other', () => {
  expect(recoveryWithoutUid(recoveryId(job, at))).toBe('train/llm/2026-11-21T07:09:03.117Z');
});

describe('a value in a query on Temporal', () => {
  it('is a name or an id', () => {
    expect(quoted(recoveryIdPrefix(job))).toBe("'recovery/train/llm/0b1c/'");
    expect(quoted('gpu-7.example')).toBe("'gpu-7.example'");
  });

  it.each(["a' OR 'b' = 'b", "a\\' OR ExecutionStatus = 'Running' --", 'a\\', 'a"b', 'a`b', 'a\nb', 'a;b', 'a%'])(
    'is never %j',
    (text) => {
      expect(() => quoted(text)).toThrow(KcoverError);
    },
  );
});
