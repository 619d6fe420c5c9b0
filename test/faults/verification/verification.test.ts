import { describe, expect, it } from '@jest/globals';
import { verificationTools, verify } from '../../../faults/verification/index.ts';

const result = (id: number, status: string, severity?: number) => ({
  entity_group: 'GPU',
  entity_id: id,
  status,
  ...(severity !== undefined && {
    warnings: [{ warning: 'Row remap\u001b[31m pending', error_id: 84, error_category: 7, error_severity: severity }],
  }),
});
const testOf = (name: string, results: readonly object[], summary = 'Pass') => ({
  name,
  results,
  test_summary: { status: summary },
});
const diagnostic = (tests: readonly object[], gpus = [0, 1]) => ({
  'DCGM Diagnostic': { test_categories: [{ category: 'Hardware', tests }] },
  entity_groups: [
    { entity_group: 'GPU', entity_group_id: 1, entities: gpus.map((entity_id) => ({ entity_id })) },
    { entity_group: 'CPU', entity_group_id: 7, entities: [{ entity_id: 0 }] },
  ],
  metadata: { version: '4.2.3', 'Driver Version Detected': '580.82.09' },
});
const good = JSON.stringify(diagnostic([testOf('memory', [result(0, 'Pass'), result(1, 'Pass')])]));
const dcgm = (tests: readonly object[]) => JSON.stringify(diagnostic(tests));

const head = `# nThread 1 nGpus 2 minBytes 8 maxBytes 1073741824
#  Rank  0 Group  0 Pid    374 on gpu-3 device  0 [0000:17:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid    375 on gpu-3 device  1 [0000:3d:00] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
`;
const small =
  '   134217728      33554432     float     sum      -1   5292.9   25.36   30.55      0   5300.1   25.32   47.48      0\n';
const large =
  '  1073741824     268435456     float     sum      -1    90330  118.87  443.88      0    91945  116.78  438.96      0\n';
const end = '# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 240.921 \n#\n';
const nccl = head + small + large + end;
const json = {
  config: { validation: 1, devices: [{ rank: 0 }, { rank: 1 }] },
  results: [{ size: 1073741824, out_of_place: { bus_bw: 443.88 }, in_place: { bus_bw: 438.96 } }],
  out_of_bounds: { count: 0, okay: true },
  average_bus_bandwidth: { bandwidth: 441.4, okay: 'unchecked' },
};

const burn =
  "Using compare file: compare.ptx\n100.0%  proc'd: 1170 (11583 Gflop/s)   errors: 0   temps: 60 C\nKilling processes.. done\n\nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: OK\n";

const recovery = 'index, uuid, gpu_recovery_action\n0, GPU-0a, None\n1, GPU-0b, None\n';

describe('the output of', () => {
  it.each([
    ['dcgm', good, {}, 'passed', '2 GPUs passed memory'],
    ['dcgm', `Successfully ran diagnostic for group.\n${good}`, {}, 'passed', '2 GPUs passed memory'],
    [
      'dcgm',
      dcgm([testOf('memory', [result(0, 'Pass'), result(1, 'Fail', 2)], 'Fail')]),
      {},
      'failed',
      'memory of GPU 1: DCGM asks to isolate: Row remap pending',
    ],
    [
      'dcgm',
      dcgm([testOf('memory', [result(0, 'Pass'), result(1, 'Fail', 6)], 'Fail')]),
      { exitCode: 205 },
      'failed',
      'memory of GPU 1: DCGM asks to reset: Row remap pending',
    ],
    ['dcgm', dcgm([testOf('memory', [result(0, 'Pass'), result(1, 'Fail')], 'Fail')]), {}, 'failed', 'memory of GPU 1'],
    ['dcgm', dcgm([testOf('memory', [result(0, 'Pass'), result(1, 'Pass')], 'Fail')]), {}, 'failed', 'memory of all'],
    [
      'dcgm',
      dcgm([testOf('software', [result(0, 'Fail', 5), result(1, 'Pass')], 'Fail')]),
      {},
      'unknown',
      expect.stringContaining('not set up'),
    ],
    [
      'dcgm',
      dcgm([testOf('memory', [result(0, 'Pass'), result(1, 'Skip')], 'Pass')]),
      {},
      'unknown',
      'not passed: memory of GPU 1: skip',
    ],
    [
      'dcgm',
      dcgm([testOf('memory', [result(0, 'Pass'), result(1, 'Pass')]), testOf('pcie', [], 'Skip')]),
      {},
      'unknown',
      'not passed: pcie of all: skip',
    ],
    ['dcgm', dcgm([testOf('memory', [result(0, 'Pass')])]), {}, 'unknown', 'not tested: GPU 1'],
    [
      'dcgm',
      dcgm([testOf('memory', [result(0, 'Great'), result(1, 'Pass')])]),
      {},
      'unknown',
      expect.stringContaining('great'),
    ],
    [
      'dcgm',
      dcgm([testOf('memory', [{}, result(0, 'Pass'), result(1, 'Pass')])]),
      {},
      'unknown',
      expect.stringContaining('no status'),
    ],
    [
      'dcgm',
      JSON.stringify(diagnostic([testOf('memory', [result(0, 'Pass')])], [])),
      {},
      'unknown',
      'its JSON lists no GPUs',
    ],
    ['dcgm', dcgm([]), {}, 'unknown', 'its JSON has no tests of DCGM 4'],
    [
      'dcgm',
      '{"DCGM Diagnostic": {"runtime_error": "the host engine is gone"}}',
      {},
      'unknown',
      'the host engine is gone',
    ],
    [
      'dcgm',
      '{"DCGM GPU Diagnostic": {"test_categories": [{"tests": [{"name": "Denylist", "results": [{"gpu_id": "0", "status": "PASS"}]}]}]}}',
      {},
      'unknown',
      'its JSON has no tests of DCGM 4',
    ],
    [
      'dcgm',
      'Error: Unable to connect to host engine.',
      { exitCode: 235 },
      'unknown',
      'dcgmi ended with exit code 235',
    ],
    ['dcgm', 'Error: diag is running', { exitCode: 217 }, 'busy', 'another diagnostic runs already'],
    ['dcgm', '', { exitCode: 226 }, 'failed', 'DCGM says that a test failed'],
    ['dcgm', good, { exitCode: 226 }, 'failed', 'DCGM says that a test failed'],
    ['dcgm', good, { exitCode: 137 }, 'unknown', 'dcgmi ended with exit code 137'],
    ['dcgm', good, { devices: 8 }, 'failed', '2 of 8 GPUs were tested: 2 GPUs passed memory'],
    ['nccl', nccl, {}, 'passed', '443.88 GB/s bus bandwidth at 1073741824 bytes; no bound was given'],
    [
      'nccl',
      nccl,
      { atLeast: 440, devices: 2 },
      'passed',
      '443.88 GB/s bus bandwidth at 1073741824 bytes, at least 440 GB/s',
    ],
    ['nccl', nccl, { atLeast: 460 }, 'failed', '443.88 GB/s bus bandwidth at 1073741824 bytes, less than 460 GB/s'],
    ['nccl', nccl, { exitCode: 1 }, 'unknown', expect.stringContaining('ended with exit code 1')],
    ['nccl', nccl.replace('438.96      0', '438.96      7'), {}, 'failed', 'wrong values at 1073741824 bytes'],
    ['nccl', nccl.replace('0 OK', '3 FAILED'), {}, 'failed', 'Out of bounds values : 3 FAILED'],
    ['nccl', nccl.replace('240.921 ', '240.921 FAILED'), {}, 'failed', 'Avg bus bandwidth : 240.921 FAILED'],
    ['nccl', nccl.replaceAll('443.88', 'nan'), {}, 'unknown', 'a row of its table cannot be read'],
    ['nccl', nccl.replaceAll('443.88', 'inf'), {}, 'unknown', 'a row of its table cannot be read'],
    ['nccl', nccl.replaceAll('      0', '  5e-07'), {}, 'unknown', expect.stringContaining('no table with an end')],
    ['nccl', nccl.replaceAll('      0', '    N/A'), {}, 'unknown', 'the values were not checked (-c 1)'],
    ['nccl', head + small + large, {}, 'unknown', expect.stringContaining('cut off')],
    ['nccl', head + small + end + large, {}, 'unknown', expect.stringContaining('cut off')],
    ['nccl', head + end, {}, 'unknown', expect.stringContaining('cut off')],
    [
      'nccl',
      JSON.stringify(json),
      { atLeast: 440, devices: 2 },
      'passed',
      '443.88 GB/s bus bandwidth at 1073741824 bytes, at least 440 GB/s',
    ],
    ['nccl', JSON.stringify(json), { atLeast: 450 }, 'failed', expect.stringContaining('less than 450 GB/s')],
    ['nccl', JSON.stringify({ ...json, out_of_bounds: { count: 2, okay: false } }), {}, 'failed', 'wrong values'],
    [
      'nccl',
      JSON.stringify({ ...json, average_bus_bandwidth: { okay: false } }),
      {},
      'failed',
      expect.stringContaining('NCCL_TESTS_MIN_BW'),
    ],
    [
      'nccl',
      JSON.stringify({ ...json, config: { validation: 0 } }),
      {},
      'unknown',
      'the values were not checked (-c 1)',
    ],
    [
      'nccl',
      JSON.stringify({ ...json, results: [...json.results, { size: 8, out_of_place: { bus_bw: '1' } }] }),
      {},
      'unknown',
      'a row of its table cannot be read',
    ],
    ['nccl', JSON.stringify(json).slice(0, -20), {}, 'unknown', expect.stringContaining('cut off')],
    ['gpu-burn', burn, { devices: 2 }, 'passed', '2 GPUs are OK'],
    ['gpu-burn', burn.replace('1: OK', '1: FAULTY'), {}, 'failed', 'faulty: GPU 1'],
    ['gpu-burn', burn.replace('\tGPU 1: OK\n', ''), {}, 'unknown', '1 of 2 GPUs are OK'],
    ['gpu-burn', burn.replace('1: OK', '1: MAYBE'), {}, 'unknown', '1 of 2 GPUs are OK'],
    ['gpu-burn', burn.replace('1: OK', '0: OK'), {}, 'unknown', '1 of 2 GPUs are OK'],
    ['gpu-burn', burn.replace('Tested 2', 'Tested 0'), {}, 'unknown', expect.any(String)],
    ['gpu-burn', burn.slice(0, burn.indexOf('Tested')), {}, 'unknown', expect.stringContaining('cut off')],
    ['gpu-burn', burn, { devices: 8 }, 'failed', '2 of 8 GPUs were tested: 2 GPUs are OK'],
    ['recovery-action', recovery, { devices: 2 }, 'passed', 'the driver asks for nothing of 2 GPUs'],
    [
      'recovery-action',
      recovery.replace('0b, None', '0b, Reset'),
      {},
      'failed',
      'nvidia-smi: gpu_recovery_action of GPU 1 is Reset',
    ],
    [
      'recovery-action',
      recovery.replace('0b, None', '0b, Node Reboot'),
      {},
      'failed',
      expect.stringContaining('Node Reboot'),
    ],
    [
      'recovery-action',
      recovery.replace('0b, None', '0b, Exorcise'),
      {},
      'failed',
      expect.stringContaining('Exorcise'),
    ],
    [
      'recovery-action',
      recovery.replace('0b, None', '0b, [N/A]'),
      {},
      'unknown',
      expect.stringContaining('prints N/A'),
    ],
    ['recovery-action', 'index, uuid\n0, GPU-0a\n', {}, 'unknown', 'it has no column gpu_recovery_action'],
    ['recovery-action', 'index, uuid, gpu_recovery_action\n', {}, 'unknown', expect.any(String)],
    [
      'recovery-action',
      'Field "gpu_recovery_action" is not a valid field to query.\n',
      { exitCode: 2 },
      'unknown',
      expect.any(String),
    ],
    ['recovery-action', recovery, { exitCode: 9 }, 'unknown', 'nvidia-smi ended with exit code 9'],
  ] as const)('%s: %.40j with %j is %s', (tool, text, options, verdict, because) => {
    expect(verify(tool, text, options)).toMatchObject({ verdict, because });
  });

  it.each([...verificationTools])('%s is never a pass where it is cut off, from another tool, or hostile', (tool) => {
    const texts = [good, nccl, JSON.stringify(json), burn, recovery];
    const own = { dcgm: good, nccl, 'gpu-burn': burn, 'recovery-action': recovery }[tool];
    const others = texts.filter((text) => text !== own && !(tool === 'nccl' && text.startsWith('{"config"')));
    // The last row of the recovery action is whole without its line break.
    const cut = [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => own.slice(0, Math.floor(own.trimEnd().length * part)));
    const hostile = [
      '',
      '\u0000',
      '{',
      '[]',
      '{}',
      'null',
      '{'.repeat(100_000),
      ' '.repeat(1_000_000),
      '1 '.repeat(1_000_000),
      'x'.repeat(5_000_000),
    ];
    for (const text of [...others, ...cut, ...hostile]) {
      const { verdict, because } = verify(tool, text, { devices: 2 });
      expect([text.slice(0, 40), verdict]).not.toEqual([text.slice(0, 40), 'passed']);
      expect(because.length).toBeLessThanOrEqual(500);
    }
  });
});
