import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, V1ContainerStatus, V1Job, V1Node, V1Pod } from '@kubernetes/client-node';
import { readAnswer, resultOfExit } from '../../../activities/remedy/answer.ts';
import { staysOnNode } from '../../../activities/remedy/drain.ts';
import { resultOfJob, whyNotStarted } from '../../../activities/remedy/job-result.ts';
import { resultOfObject } from '../../../activities/remedy/object-hook.ts';
import { whatIsMissing } from '../../../activities/remedy/proof.ts';
import type { MachineView } from '../../../contract/remedy/remedy.ts';
import { hookRequest } from '../../support/hook-requests.ts';

const request = hookRequest();
const json = JSON.stringify;

describe('an answer of a hook', () => {
  it.each([
    [{}, { verdict: 'passed', because: 'it says passed' }],
    [
      { verdict: 'busy', because: 'maintenance', more: 1 },
      { verdict: 'busy', because: 'maintenance' },
    ],
    [{ node: 'gpu-4' }, { verdict: 'failed', because: 'it answers for node gpu-4, not for gpu-3' }],
    [
      { operation: 'op-2', verdict: 'passed' },
      { verdict: 'failed', because: expect.stringContaining('op-2') },
    ],
    [{ reference: 'INC-7' }, { verdict: 'passed', because: 'it says passed', reference: 'INC-7' }],
  ])('%j', (value, expected) => {
    expect(readAnswer(json(value), request, 'passed')).toEqual(expected);
  });

  it.each([
    '',
    'ok',
    '[]',
    'null',
    '"passed"',
    json({ verdict: 'PASSED' }),
    json({ because: 1 }),
    json({ because: 'x'.repeat(5000) }),
  ])('cannot be read: %.30s', (text) => {
    expect(readAnswer(text, request, 'passed')).toEqual({ unreadable: expect.any(String) });
  });

  it('is one clean, short line without secrets', () => {
    const because = `reset\u001b[31m of\n\u202egpu-3 with token=hunter2hunter2hunter2 ${'x'.repeat(2000)}`;
    const answer = readAnswer(json({ because }), request, 'passed');
    if ('unreadable' in answer) throw new Error(answer.unreadable);
    expect(answer.because).toMatch(/^reset of gpu-3 with token=/);
    expect(answer.because).not.toContain('hunter2');
    expect(answer.because.length).toBeLessThanOrEqual(500);
  });
});

describe('the exit code of a program', () => {
  it.each([
    [0, '', 'passed', 'it ended with exit code 0'],
    [1, 'line\nno GPU\n', 'failed', 'it ended with exit code 1: no GPU'],
    [2, '', 'unknown', 'it ended with exit code 2'],
    [127, 'not found', 'unknown', 'it ended with exit code 127: not found'],
    [137, '', 'unknown', 'it ended with exit code 137'],
    [0, json({ verdict: 'failed', because: 'ECC' }), 'failed', 'ECC'],
    [2, json({ verdict: 'busy', because: 'diag runs' }), 'busy', 'diag runs'],
    [1, json({ because: 'GPU 3' }), 'failed', 'GPU 3'],
    [1, json({ verdict: 'passed' }), 'unknown', 'it says passed, but it ended with exit code 1'],
    [139, json({ verdict: 'passed' }), 'unknown', 'it says passed, but it ended with exit code 139'],
    [0, json({ verdict: 'great' }), 'passed', expect.stringContaining('it ended with exit code 0')],
  ])('%i with %j is %s', (exitCode, text, verdict, because) => {
    expect(resultOfExit(exitCode, text, request)).toEqual({ verdict, because });
  });
});

const job: V1Job = { metadata: { uid: 'job' } };
const endedJob = (reason: string, failed?: number): V1Job => ({
  ...job,
  status: {
    conditions: [{ type: 'Failed', status: 'True', reason, message: 'm' }],
    ...(failed !== undefined && { failed }),
  },
});
const status = (state: V1ContainerStatus['state'], name = 'reset'): V1ContainerStatus =>
  ({ name, state }) as V1ContainerStatus;
const pod = (given: V1Pod['status'], nodeName = 'gpu-3', owner = 'job'): V1Pod => ({
  metadata: { ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'op-1', uid: owner, controller: true }] },
  spec: { nodeName, containers: [{ name: 'reset' }] },
  status: given ?? {},
});
const over = (exitCode: number, message = '', reason = 'Error') =>
  pod({ containerStatuses: [status({ terminated: { exitCode, message, reason } })] });

describe('the Job of a hook', () => {
  it.each<[string, V1Job, V1Pod[], string | undefined, unknown]>([
    ['runs', job, [pod({ containerStatuses: [status({ running: {} })] })], undefined, undefined],
    ['has ended well', job, [over(0, json({ because: 'reset' }))], undefined, { verdict: 'passed', because: 'reset' }],
    [
      'has failed',
      job,
      [over(1, 'no GPU')],
      undefined,
      { verdict: 'failed', because: 'it ended with exit code 1: no GPU' },
    ],
    [
      'ran elsewhere',
      job,
      [pod({}, 'gpu-4')],
      undefined,
      { verdict: 'failed', because: 'its pod ran on gpu-4, not on gpu-3' },
    ],
    [
      'is not the one of this pod',
      job,
      [pod({ containerStatuses: over(0).status?.containerStatuses ?? [] }, 'gpu-3', 'other')],
      undefined,
      undefined,
    ],
    [
      'could create no pod',
      endedJob('DeadlineExceeded'),
      [],
      undefined,
      { verdict: 'failed', because: expect.stringContaining('no pod') },
    ],
    [
      'ended while its pod waited',
      endedJob('DeadlineExceeded', 1),
      [],
      'Unschedulable: no GPU',
      { verdict: 'failed', because: 'its pod never started: Unschedulable: no GPU' },
    ],
    [
      'ended while its pod ran',
      endedJob('DeadlineExceeded', 1),
      [],
      undefined,
      { verdict: 'unknown', because: expect.stringContaining('DeadlineExceeded: m') },
    ],
    [
      'was refused by the kubelet',
      job,
      [pod({ phase: 'Failed', reason: 'OutOfgpu' })],
      undefined,
      { verdict: 'failed', because: 'its pod never started: OutOfgpu' },
    ],
    [
      'lost its container in a reboot',
      job,
      [
        pod({
          phase: 'Failed',
          containerStatuses: [status({ terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } })],
        }),
      ],
      undefined,
      { verdict: 'unknown', because: expect.any(String) },
    ],
    [
      'failed before its container',
      job,
      [pod({ phase: 'Failed', initContainerStatuses: [status({ terminated: { exitCode: 3 } }, 'diag')] })],
      undefined,
      { verdict: 'unknown', because: expect.stringContaining('init container diag ended with exit code 3') },
    ],
  ])('%s', (_, its, pods, waitsFor, expected) => {
    expect(resultOfJob(its, pods, request, waitsFor)).toEqual(expected);
  });

  it('says what its pod waits for, until a container has started', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no GPU\u001b[0m' }];
    expect(whyNotStarted(pod({ phase: 'Pending', conditions }))).toBe('Unschedulable: no GPU');
    expect(whyNotStarted(pod({ initContainerStatuses: [status({ running: {} })] }))).toBeUndefined();
    expect(whyNotStarted(over(1))).toBeUndefined();
  });
});

describe('the conditions of an object', () => {
  const hook = { kind: 'object', template: 't', condition: 'Done', failed: 'Broken' } as const;
  const same = { ...hook, failed: 'Done' };
  const object = (...conditions: unknown[]): KubernetesObject & { status: unknown } => ({ status: { conditions } });
  it.each([
    [hook, object(), undefined],
    [hook, object({ type: 'Done', status: 'Unknown' }), undefined],
    [hook, object({ type: 'Done', status: 'False' }), undefined],
    [
      hook,
      object({ type: 'Done', status: 'True', reason: 'Up', message: 'a\nb' }),
      { verdict: 'passed', because: 'Done is True: Up: a b' },
    ],
    [hook, object({ type: 'Broken', status: 'True' }), { verdict: 'failed', because: 'Broken is True' }],
    [
      hook,
      object({ type: 'Broken', status: 'True' }, { type: 'Done', status: 'True' }),
      { verdict: 'failed', because: 'Broken is True' },
    ],
    [same, object({ type: 'Done', status: 'False' }), { verdict: 'failed', because: 'Done is False' }],
    [same, object({ type: 'Done', status: 'Unknown' }), undefined],
    [hook, { kind: 'X', status: { conditions: 'x' } }, undefined],
    [hook, object(null, 7, { type: {}, status: [] }), undefined],
  ])('of %j in %j', (its, given, expected) => {
    expect(resultOfObject(given, its)).toEqual(expected);
  });
});

describe('the proof of a repair', () => {
  const before: MachineView = {
    uid: 'u',
    systemUuid: 's',
    bootId: 'a',
    ready: true,
    accelerators: { 'nvidia.com/gpu': 8 },
  };
  const node = (bootID: string, ready: string, gpus: number, capacity = gpus): V1Node =>
    ({
      metadata: { uid: 'u' },
      status: {
        nodeInfo: { bootID },
        conditions: [{ type: 'Ready', status: ready, reason: 'KubeletNotReady' }],
        allocatable: { 'nvidia.com/gpu': String(gpus) },
        capacity: { 'nvidia.com/gpu': String(capacity) },
      },
    }) as unknown as V1Node;
  it.each([
    ['rebooted', node('a', 'True', 8), ['its boot id is still a']],
    ['rebooted', node('', 'True', 8), ['its boot id is still a']],
    ['rebooted', node('b', 'False', 8), ['it is not ready: KubeletNotReady']],
    ['rebooted', node('b', 'True', 0), []],
    ['ready', node('a', 'Unknown', 8), ['it is not ready: KubeletNotReady']],
    ['allocatable', node('a', 'True', 7), ['it has 7 of 8 nvidia.com/gpu']],
    ['allocatable', node('a', 'True', 8), []],
    ['allocatable', node('a', 'True', 8, 16), ['it has 8 of 16 nvidia.com/gpu']],
    ['result', node('a', 'False', 0), []],
  ] as const)('%s', (proof, its, expected) => {
    expect(whatIsMissing(its, { proof: [proof], before })).toEqual(expected);
  });

  it('of accelerators is not given by a node that had none and has none', () => {
    const none = { ...before, accelerators: {} };
    expect(whatIsMissing(node('a', 'True', 0), { proof: ['allocatable'], before: none })).toEqual([
      'it has no accelerators',
    ]);
  });

  it('needs all that is wanted, each said once', () => {
    expect(whatIsMissing(node('b', 'False', 7), { proof: ['rebooted', 'ready', 'allocatable'], before })).toEqual([
      'it is not ready: KubeletNotReady',
      'it has 7 of 8 nvidia.com/gpu',
    ]);
  });
});

describe('a pod', () => {
  const owner = (kind: string, apiVersion: string, controller = true) => ({
    ownerReferences: [{ kind, apiVersion, name: 'x', uid: 'x', controller }],
  });
  it.each<[string, V1Pod, boolean]>([
    ['of a ReplicaSet', { metadata: owner('ReplicaSet', 'apps/v1') }, false],
    ['of a DaemonSet', { metadata: owner('DaemonSet', 'apps/v1') }, true],
    ['of a DaemonSet of another group', { metadata: owner('DaemonSet', 'example.com/v1') }, false],
    ['that a DaemonSet only owns', { metadata: owner('DaemonSet', 'apps/v1', false) }, false],
    ['that is static', { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } }, true],
    ['that has ended', { status: { phase: 'Succeeded' } }, true],
    ['of a hook', { metadata: { namespace: 'hooks', labels: { 'kcover.io/operation': 'op' } } }, true],
    [
      'that claims to be of a hook elsewhere',
      { metadata: { namespace: 'train', labels: { 'kcover.io/operation': 'op' } } },
      false,
    ],
  ])('%s stays on a drained node: %s', (_, given, stays) => {
    expect(staysOnNode(given, 'hooks')).toBe(stays);
  });
});
