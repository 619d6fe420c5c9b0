import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { hookJob } from '../../../kube/hooks/hook-job.ts';
import { filled, readJobTemplate, readObjectTemplate } from '../../../kube/hooks/template.ts';
import { hookRequest } from '../../support/hook-requests.ts';

const directory = mkdtempSync(join(tmpdir(), 'templates-'));
let count = 0;
const fileOf = (text: string): string => {
  const file = join(directory, `${(count += 1)}.yaml`);
  writeFileSync(file, text);
  return file;
};

const container = { name: 'reset', image: 'example.org/tools:1', command: ['reset', '{node}'] };
const template = (pod: object = {}, spec: object = {}, more: object = {}) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  ...more,
  spec: { ...spec, template: { spec: { containers: [container], ...pod } } },
});
const read = (value: unknown) => readJobTemplate(fileOf(stringify(value)));
const made = async (value: unknown, request = hookRequest(), leftMs = 600_000) =>
  hookJob(await read(value), request, { namespace: 'kcover-hooks', taintKey: 'kcover.io/quarantine', leftMs });

describe('the Job of a hook', () => {
  it('is named by the operation, runs once, and its pod fits on its node alone, whatever taints the node has', async () => {
    const job = await made(template({ tolerations: [{ key: 'team', operator: 'Exists' }], hostPID: true }));
    expect(job.metadata).toMatchObject({
      name: 'op-1',
      namespace: 'kcover-hooks',
      labels: { 'kcover.io/operation': 'op-1' },
      annotations: { 'kcover.io/node': 'gpu-3', 'kcover.io/incident': 'node/gpu-3/2026-11-21T07:09:03.117Z' },
    });
    expect(job.spec).toMatchObject({ backoffLimit: 0, completions: 1, parallelism: 1 });
    const { spec, metadata } = job.spec?.template ?? {};
    expect(metadata?.labels).toEqual({ 'kcover.io/operation': 'op-1' });
    expect(spec).toMatchObject({ restartPolicy: 'Never', automountServiceAccountToken: false, hostPID: true });
    const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    expect(required?.nodeSelectorTerms).toEqual([
      { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['gpu-3'] }] },
    ]);
    expect(spec?.tolerations?.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['team', 'kcover.io/quarantine', 'node.kubernetes.io/not-ready']),
    );
  });

  it('gives its containers the facts of the operation, in which nothing is expanded', async () => {
    const request = hookRequest({ devices: ['0000:5d:00', '$(SECRET)', 'a b'] });
    const own = [
      { name: 'KCOVER_NODE', value: 'x' },
      { name: 'LEVEL', value: '{operation}' },
    ];
    const job = await made(template({ containers: [{ ...container, env: own }] }), request);
    const [only] = job.spec?.template.spec?.containers ?? [];
    expect(only?.command).toEqual(['reset', 'gpu-3']);
    expect(Object.fromEntries((only?.env ?? []).map(({ name, value }) => [name, value]))).toEqual({
      LEVEL: 'op-1',
      KCOVER_NODE: 'gpu-3',
      KCOVER_OPERATION: 'op-1',
      KCOVER_INCIDENT: 'node/gpu-3/2026-11-21T07:09:03.117Z',
      KCOVER_SYSTEM_UUID: 'machine-3',
      KCOVER_CODES: 'xid/79',
      KCOVER_DEVICES: '0000:5d:00',
    });
    expect(only?.env).toHaveLength(7);
  });

  it('ends itself before kcover stops waiting, and stays at least as long as the operation may take', async () => {
    const spec = async (given: object, leftMs?: number) =>
      (await made(template({}, given), hookRequest({ timeoutMs: 600_000 }), leftMs)).spec;
    expect(await spec({})).toMatchObject({ activeDeadlineSeconds: 595, ttlSecondsAfterFinished: 86_400 });
    expect(await spec({ activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 1 })).toMatchObject({
      activeDeadlineSeconds: 60,
      ttlSecondsAfterFinished: 600,
    });
    expect(await spec({ activeDeadlineSeconds: 6000 }, 2000)).toMatchObject({ activeDeadlineSeconds: 1 });
  });
});

describe('a template of a Job', () => {
  it.each([
    ['of another kind', { ...template(), kind: 'Pod' }, 'kind'],
    ['with a name of its own', template({}, {}, { metadata: { name: 'reset' } }), 'name'],
    ['with another node', template({ nodeName: 'gpu-4' }), 'spec.template.spec.nodeName'],
    ['with a node selector', template({ nodeSelector: {} }), 'kcover pins the pod'],
    ['with an affinity', template({ affinity: {} }), 'kcover pins the pod'],
    ['with retries', template({}, { backoffLimit: 3 }), 'backoffLimit'],
    ['that restarts its containers', template({ restartPolicy: 'OnFailure' }), 'a hook runs once'],
    ['with two containers', template({ containers: [container, container] }), 'exactly one container'],
    ['without a container', template({ containers: [] }), 'exactly one container'],
  ])('%s is refused, and the sentence says why', async (_, value, why) => {
    await expect(read(value)).rejects.toMatchObject({
      code: 'settings.invalid',
      because: expect.stringContaining(why),
    });
  });

  it.each([
    ['is no YAML', 'a: [', 'cannot be read'],
    ['is two documents', 'a: 1\n---\nb: 2\n', 'cannot be read'],
    ['is too large', `a: ${'x'.repeat(70_000)}`, 'more than 65536 bytes'],
    [
      'grows by aliases',
      `a: &a [x,x,x,x,x,x,x,x]\n${[...'bcdefgh'].map((name, at) => `${name}: &${name} [${Array(8).fill(`*${'abcdefg'[at]}`).join(',')}]`).join('\n')}`,
      'cannot be read',
    ],
  ])('is refused when it %s', async (_, text, why) => {
    await expect(readJobTemplate(fileOf(text))).rejects.toMatchObject({ because: expect.stringContaining(why) });
  });

  it('is refused when it is missing', async () => {
    await expect(readJobTemplate(join(directory, 'none'))).rejects.toMatchObject({ code: 'settings.invalid' });
  });
});

describe('a template of an object', () => {
  it('has placeholders in its strings, and nowhere else', async () => {
    const object = {
      apiVersion: 'janitor.dgxc.nvidia.com/v1alpha1',
      kind: 'RebootNode',
      spec: { nodeName: '{node}', '{node}': ['for {operation}', 1, null, { deep: '{node}{node}' }] },
    };
    const found = await readObjectTemplate(fileOf(stringify(object)));
    expect(filled(found, hookRequest()).spec).toEqual({
      nodeName: 'gpu-3',
      '{node}': ['for op-1', 1, null, { deep: 'gpu-3gpu-3' }],
    });
  });

  it.each([
    ['a path as its version', { apiVersion: '../v1', kind: 'X', spec: {} }],
    ['a path as its kind', { apiVersion: 'v1', kind: 'X/y', spec: {} }],
    ['a status', { apiVersion: 'v1', kind: 'X', spec: {}, status: {} }],
  ])('is refused with %s', async (_, value) => {
    await expect(readObjectTemplate(fileOf(stringify(value)))).rejects.toMatchObject({ code: 'settings.invalid' });
  });
});
