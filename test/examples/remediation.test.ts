import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { V1Container } from '@kubernetes/client-node';
import { parse, parseAllDocuments } from 'yaml';
import { workerSettings } from '../../contract/settings/settings.schema.ts';
import { hookJob } from '../../kube/hooks/hook-job.ts';
import { filled, readJobTemplate, readObjectTemplate } from '../../kube/hooks/template.ts';
import { buildProgram } from '../../cli/program/program.ts';
import { verificationTools } from '../../faults/verification/index.ts';
import { hookRequest } from '../support/hook-requests.ts';

const directory = join(import.meta.dirname, '..', '..', 'examples', 'remediation');
const at = (file: string): string => join(directory, file);
const settings = workerSettings.parse(parse(readFileSync(at('worker.yaml'), 'utf8')));
const { hooks, ladders } = settings.remediation;
const templates = Object.values(hooks).flatMap((hook) =>
  hook.kind === 'job' || hook.kind === 'object' ? [{ kind: hook.kind, file: basename(hook.template) }] : [],
);
const jobs = templates.filter(({ kind }) => kind === 'job').map(({ file }) => file);
const options = { namespace: 'kcover-hooks', taintKey: 'kcover.io/quarantine', leftMs: 600_000 };
const containersOf = async (file: string): Promise<readonly V1Container[]> => {
  const pod = hookJob(await readJobTemplate(at(file)), hookRequest(), options).spec?.template.spec;
  return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
};

describe('the examples of repairs', () => {
  it('are all used by the example of settings, except the rights', () => {
    const files = readdirSync(directory).filter((file) => !['worker.yaml', 'rights.yaml'].includes(file));
    expect(templates.map(({ file }) => file).toSorted()).toEqual(files.toSorted());
    const used = ladders.flatMap(({ rungs }) =>
      rungs.flatMap(({ hook, verify }) => [hook, ...(verify ? [verify] : [])]),
    );
    expect(Object.keys(hooks).filter((name) => !used.includes(name))).toEqual(['nvsentinel-reboot']);
    expect(parseAllDocuments(readFileSync(at('rights.yaml'), 'utf8'))).toHaveLength(5);
  });

  it.each(jobs)('pass the checks of a template of a Job, and leave no placeholder: %s', async (file) => {
    expect(JSON.stringify(await containersOf(file))).not.toMatch(/\{(?:node|operation)\}/);
  });

  it('pass the checks of a template of an object', async () => {
    const template = filled(await readObjectTemplate(at('nvsentinel-reboot.yaml')), hookRequest());
    expect(template).toMatchObject({ kind: 'RebootNode', spec: { nodeName: 'gpu-3' } });
  });

  it.each(jobs)('have scripts that a shell can read: %s', async (file) => {
    const scripts = (await containersOf(file)).filter(({ command }) => command?.[0] === '/bin/sh');
    for (const { args = [] } of scripts)
      expect(spawnSync('sh', ['-n', '-c', args[0] ?? ''], { encoding: 'utf8' })).toMatchObject({
        status: 0,
        stderr: '',
      });
  });

  it.each(['dcgm.yaml', 'nccl.yaml'])('call kcover verify with options that it has: %s', async (file) => {
    const [, only] = await containersOf(file);
    const [name, ...args] = only?.args ?? [];
    const command = buildProgram({ version: '', programName: 'kcover', stdout: process.stdout }, () =>
      Promise.resolve(),
    ).commands.find((each) => each.name() === name);
    expect(command?.parseOptions(args).unknown).toEqual([]);
    expect(verificationTools).toContain(args[args.indexOf('--tool') + 1]);
  });
});
