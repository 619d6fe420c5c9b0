import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { detectors } from '../../agent/detectors/index.ts';
import { FakeTool } from '../support/fake-tool.ts';
import { recorded } from '../support/recorded.ts';
import { type Given, useNode } from './checked-node.ts';
import { until } from './until.ts';

const node = useNode();

const help = `List of valid properties to query for the switch "--query-gpu=":\n\n${[
  'index',
  'uuid',
  'pci.bus_id',
  'clocks_event_reasons.active" or "clocks_throttle_reasons.active',
  'ecc.errors.uncorrected.volatile.total',
  'gpu_recovery_action',
]
  .map((name) => `"${name}"\nWhat it is.\n`)
  .join('\n')}`;

const header =
  'index, uuid, pci.bus_id, clocks_event_reasons.active, ecc.errors.uncorrected.volatile.total, gpu_recovery_action';
const gpu = ({ reasons = '0x0', ecc = '0', recovery = 'None' } = {}) =>
  `${header}\n0, GPU-8f0500a5-abae-41df-22f9-42f861728600, 00000000:19:00.0, ${reasons}, ${ecc}, ${recovery}\n`;

const two = `${gpu()}1, GPU-9e8682f0-0d01-e118-3a86-008e972bfe01, 00000000:3B:00.0, 0x0, 0, None\n`;

async function nvidiaSmi(output: string) {
  const byArgument = { '--help-query-gpu': help };
  const tool = await new FakeTool(node.root, 'nvidia-smi').create({ output, byArgument });
  const plays = (play: Parameters<FakeTool['plays']>[0]) => tool.plays({ byArgument, ...play });
  const given = (more: object = {}): Given => ({
    smi: { command: tool.path, every: '10ms', deadline: '300ms', ...more },
  });
  return { tool, plays, given };
}

describe('NVIDIA GPUs', () => {
  it('are asked for the fields that this nvidia-smi knows, and are fine', async () => {
    const { tool, given } = await nvidiaSmi(gpu());
    const seen = node.observe(detectors.smi, given());
    await seen.looks();
    await seen.is('watching', 'reading 1 GPUs');
    expect(
      tool
        .calls()
        .slice(0, 2)
        .map(({ args }) => args),
    ).toEqual(['--help-query-gpu', `--query-gpu=${header.replaceAll(', ', ',')} --format=csv,nounits`]);
    expect(seen.faults).toEqual([]);
  });

  it('that need a reset are one fault after two looks, also after a restart of the agent', async () => {
    const { plays, given } = await nvidiaSmi(gpu());
    const seen = node.observe(detectors.smi, given());
    await seen.looks();
    await plays({ output: gpu({ recovery: 'Reset' }) });
    await until(() => seen.faults.length > 0);
    await seen.looks();
    expect(seen.faults).toEqual([
      expect.objectContaining({
        id: expect.stringMatching(/^smi\/gpu-3\/boot-1\/reset-required\/0000:19:00\/20\d\d-[\dT:.-]+Z$/),
        code: 'smi/reset-required',
        action: 'reset-gpu',
        message: 'nvidia-smi: gpu_recovery_action of GPU 0 is Reset',
      }),
    ]);
    await seen.detector.stop();
    const again = node.observe(detectors.smi, given());
    await again.looks();
    expect(again.faults).toEqual([]);
    await node.boot('boot-2');
    await until(() => again.faults.length > 0);
    expect(again.faults[0]?.id).toContain('/boot-2/');
  });

  it('that are wrong in a single look are no fault', async () => {
    const { tool, plays, given } = await nvidiaSmi(gpu());
    const seen = node.observe(detectors.smi, given({ every: '150ms' }));
    await seen.looks(1);
    const before = tool.calls().length;
    await plays({ output: gpu({ recovery: 'Reboot' }) });
    await until(() => tool.calls().length > before);
    await plays({ output: gpu() });
    await seen.looks(3);
    expect(seen.faults).toEqual([]);
  });

  it('that are slow are reported only after six looks, and old memory errors never', async () => {
    const { tool, plays, given } = await nvidiaSmi(gpu({ reasons: '0x48', ecc: '7' }));
    const seen = node.observe(detectors.smi, given());
    await until(() => seen.faults.length > 0);
    expect(tool.calls().length).toBeGreaterThanOrEqual(7);
    await plays({ output: gpu({ ecc: '8' }) });
    await until(() => seen.faults.length > 1);
    expect(seen.codes()).toEqual(['smi/hw-thermal', 'smi/ecc-uncorrected']);
  });

  it('of which one is lost are that fault, although nvidia-smi fails and does not list it', async () => {
    const line = 'Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error\n';
    const { given, plays } = await nvidiaSmi(gpu());
    const seen = node.observe(detectors.smi, given({ gpus: 2 }));
    await plays({ output: line, exitCode: 15 });
    await until(() => seen.codes().includes('smi/gpu-lost'));
    await seen.looks();
    expect(seen.faults.filter(({ device }) => device !== undefined)).toMatchObject([
      { code: 'smi/gpu-lost', device: '0000:cb:00', action: 'reboot' },
    ]);
  });

  it('that are fewer than expected are a fault', async () => {
    const { given } = await nvidiaSmi(gpu());
    const seen = node.observe(detectors.smi, given({ gpus: 8 }));
    await until(() => seen.faults.length > 0);
    expect(seen.codes()).toEqual(['smi/gpu-missing']);
  });

  it.each<[string, Parameters<FakeTool['plays']>[0], string]>([
    ['hangs', { ending: 'hangs' }, 'did not end within 300ms'],
    ['hangs after half of its output', { output: gpu({ recovery: 'Reset' }), ending: 'hangs' }, 'did not end'],
    ['floods', { output: gpu({ recovery: 'Reset' }), ending: 'floods' }, 'wrote more than'],
    ['dies', { output: gpu({ recovery: 'Reset' }), ending: 'dies' }, 'was ended by SIGKILL'],
    ['fails after half of its rows', { output: gpu(), exitCode: 9 }, 'exit code 9'],
    ['prints something else', { output: 'Segmentation fault\n' }, 'no line of the expected form'],
    ['cannot reach its driver', { output: 'Failed to initialize NVML: Unknown Error\n', exitCode: 255 }, 'NVML'],
    ['prints half a row', { output: `${header}\n0, GPU-8f05` }, '2 values for 6 columns'],
  ])('cannot be observed where nvidia-smi %s, and are no fault then', async (_, play, because) => {
    const { tool, plays, given } = await nvidiaSmi(two);
    const seen = node.observe(detectors.smi, given({ gpus: 2 }));
    await seen.looks(1);
    const before = tool.calls().length;
    await plays(play);
    await seen.is('unavailable', because);
    await until(() => tool.calls().length >= before + 3);
    expect(seen.faults).toEqual([]);
    await plays({ output: two });
    await seen.is('watching');
  });

  it('are not looked at on a node without nvidia-smi, and the agent says so', async () => {
    const seen = node.observe(detectors.smi, { smi: { command: join(node.root, 'missing'), every: '10ms' } });
    await seen.is('off', `there is no ${join(node.root, 'missing')}`);
    const none = node.observe(detectors.smi, { smi: { command: '' } });
    await none.is('off', 'name no program');
  });

  it('cannot be observed any more where nvidia-smi has gone', async () => {
    const { tool, given } = await nvidiaSmi(gpu());
    const seen = node.observe(detectors.smi, given());
    await seen.looks(1);
    await rm(tool.path);
    await seen.is('unavailable', 'cannot be started');
    expect(seen.faults).toEqual([]);
  });

  it('are found again, with a gap, where the findings of this boot cannot be read', async () => {
    const { given } = await nvidiaSmi(gpu({ recovery: 'Reset' }));
    await mkdir(join(node.root, 'state'));
    await writeFile(join(node.root, 'state/check-smi.json'), '{"bootId":"boot-1","occurrences":[{}]}');
    const seen = node.observe(detectors.smi, given());
    await until(() => seen.faults.length > 0);
    expect(seen.gaps).toEqual(['state-lost']);
  });
});

describe('MetaX GPUs', () => {
  const temperature = 'GPU#0  MXC500  0000:08:00.0\n    hotspot(max)  : 61.25 C\n';
  const lists = (more: object = {}) => ({
    '-L': recorded('mx-smi-list.txt'),
    '--show-temperature': temperature,
    '--count-ecc': recorded('mx-smi-ecc.txt'),
    ...more,
  });
  const mxSmi = async (byArgument: Record<string, string>) => {
    const tool = await new FakeTool(node.root, 'mx-smi').create({ byArgument, exitCode: 1 });
    const given = (more: object = {}): Given => ({ metax: { command: tool.path, every: '10ms', ...more } });
    return { tool, given };
  };

  it('are looked at by all three lists, and are fine', async () => {
    const { tool, given } = await mxSmi(lists());
    const seen = node.observe(detectors.metax, given({ gpus: 2 }));
    await seen.looks();
    await seen.is('watching', 'reading 2 GPUs');
    expect(seen.faults).toEqual([]);
    expect(
      tool
        .calls()
        .slice(0, 3)
        .map(({ args }) => args),
    ).toEqual(['-L', '--show-temperature', '--count-ecc']);
  });

  it('that are missing, too hot and have too many errors are all found, each as a fault', async () => {
    const { given } = await mxSmi(
      lists({
        '--show-temperature': temperature.replace('61.25', '85.00'),
        '--count-ecc': recorded('mx-smi-ecc.txt').replace(
          'Double Bit ECC                            : 0',
          'Double Bit ECC : 65',
        ),
      }),
    );
    const seen = node.observe(detectors.metax, given({ gpus: 8 }));
    await until(() => seen.faults.length >= 3);
    expect(seen.codes().toSorted()).toEqual(['smi/ecc-limit', 'smi/gpu-missing', 'smi/too-hot']);
  });

  it('are judged by what could be read where one list fails, and the agent says which', async () => {
    const { given } = await mxSmi({
      '-L': recorded('mx-smi-unavailable.txt'),
      '--count-ecc': recorded('mx-smi-ecc.txt'),
    });
    const seen = node.observe(detectors.metax, given());
    await until(() => seen.faults.length > 0);
    await seen.is('unavailable', 'mx-smi --show-temperature: it ended with exit code 1');
    expect(seen.codes()).toEqual(['smi/gpu-unavailable']);
  });

  it('are unobservable, and not missing, where mx-smi lists none', async () => {
    const { given } = await mxSmi(
      lists({ '-L': 'mx-smi  version: 2.2.9\n', '--show-temperature': '', '--count-ecc': '' }),
    );
    const seen = node.observe(detectors.metax, given({ gpus: 8 }));
    await seen.is('unavailable', 'names no GPU');
    await sleep(100);
    expect(seen.faults).toEqual([]);
  });
});

describe('the clock of a node', () => {
  it('is a fault without an action where it follows no source, and unobservable without a daemon', async () => {
    const tool = await new FakeTool(node.root, 'chronyc').create({ output: recorded('chronyc-normal.csv') });
    const seen = node.observe(detectors.clock, { clock: { command: tool.path, every: '10ms' } });
    await seen.looks();
    expect(seen.faults).toEqual([]);
    await tool.plays({ output: '506 Cannot talk to daemon\n', exitCode: 1 });
    await seen.is('unavailable', '506 Cannot talk to daemon');
    await tool.plays({ output: recorded('chronyc-not-synchronised.csv') });
    await until(() => seen.faults.length > 0);
    expect(seen.faults).toMatchObject([{ code: 'clock/not-synchronised' }]);
    expect(seen.faults[0]).not.toHaveProperty('action');
  });
});
