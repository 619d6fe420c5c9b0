import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { agentSettings, controllerSettings, workerSettings } from '../../contract/settings/settings.schema.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { decideOptIn } from '../../policy/recovery/recoverable.ts';
import { settings } from '../support/builders.ts';
import { files, textOf } from './sources.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;

describe('the examples', () => {
  it.each([
    ['examples/worker.yaml', workerSettings],
    ['examples/controller.yaml', controllerSettings],
    ['examples/agent.yaml', agentSettings],
  ])('hold settings that are taken as they stand: %s', (file, schema) => {
    expect(schema.safeParse(parse(textOf(file)))).toMatchObject({ success: true });
  });

  it.each([
    ['examples/pytorchjob.yaml', jobKinds.PyTorchJob, 4],
    ['examples/preflight/pytorchjob.yaml', jobKinds.PyTorchJob, 4],
    ['examples/training/pytorchjob.yaml', jobKinds.PyTorchJob, 2],
    ['examples/mpijob.yaml', jobKinds.MPIJob, 3],
  ])('hold a job that is opted in and can be recovered: %s', (file, entry, podsExpected) => {
    const job = parse(textOf(file)) as KubernetesObject;
    expect(job.kind).toBe(entry.kind);
    const view = entry.view({ ...job, metadata: { ...job.metadata, uid: 'uid', resourceVersion: '1' } }, taint);
    expect(view).toMatchObject({ optedIn: true, podsExpected });
    expect(decideOptIn(view, settings()).kind).not.toBe('warn');
  });

  it('are all looked at here, those of Temporal with its program and the chart, and those of repairs with the checks of templates', () => {
    const examples = files.filter((file) => /^examples\/.*\.yaml$/.test(file));
    expect(examples.filter((file) => !/^examples\/(?:temporal|remediation)\//.test(file))).toHaveLength(7);
  });
});
