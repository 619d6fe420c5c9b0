import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { faultLimits } from '../../../contract/faults/faults.ts';
import { traitsOf } from '../../../contract/faults/sources.ts';
import { type ConditionRules, defaultRules } from '../../../faults/conditions/condition.ts';
import { nodeIn } from '../../../faults/conditions/node-object.ts';
import { readNodes, readStanding } from '../../../faults/conditions/read-node.ts';
import { rowFor } from '../../../faults/conditions/row.ts';
import { conditionTable } from '../../../faults/conditions/table.ts';

interface Sample {
  readonly source: string;
  readonly condition: {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  };
  readonly faults: readonly object[];
  readonly unobservable?: true;
}

const samples = JSON.parse(
  readFileSync(new URL('../../fixtures/node-conditions.json', import.meta.url), 'utf8'),
) as readonly Sample[];

const nodeWith = (conditions: readonly unknown[], more: object = {}) => ({
  kind: 'Node',
  metadata: { name: 'gpu-1', uid: 'uid-1', ...more },
  status: { conditions: [{ type: 'Ready', status: 'True' }, ...conditions] },
});

const since = '2026-11-22T10:00:00Z';
const bad = (type: string, reason: string, message = '', status = 'False') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: since,
});

function standing(conditions: readonly unknown[], rules: ConditionRules = defaultRules, more: object = {}) {
  const node = nodeIn(nodeWith(conditions, more));
  if (!node) throw new Error('no node');
  return readStanding(node, rules);
}

describe('a node condition', () => {
  it.each(samples.map((one) => [`${one.condition.type}=${one.condition.status} (${one.source})`, one] as const))(
    'is read as its writer means it: %s',
    (_, { condition, faults, unobservable }) => {
      const found = readNodes(nodeWith([condition]));
      const shown = found?.faults.map(({ code, action, device, standing: stands }) => ({
        code,
        ...(action && { action }),
        ...(device && { device }),
        ...(stands && { standing: stands }),
      }));
      expect(shown).toEqual(faults);
      expect(found?.unobservable.map(({ source, what }) => [source, what])).toEqual(
        unobservable ? [['condition', condition.type]] : [],
      );
    },
  );

  it('of every row is no fault in any other state than the bad one, and unobservable when Unknown', () => {
    for (const { type, bad: wrong } of conditionTable.filter((row) => !row.type.endsWith('*'))) {
      const fine = wrong === 'True' ? 'False' : 'True';
      expect([type, readNodes(nodeWith([bad(type, 'Any', '', fine)]))]).toEqual([
        type,
        { faults: [], unobservable: [] },
      ]);
      const unknown = readNodes(nodeWith([bad(type, 'Any', '', 'Unknown')]));
      expect([type, unknown?.faults, unknown?.unobservable]).toMatchObject([type, [], [{ what: type, node: 'gpu-1' }]]);
    }
  });

  it('has one row for each type, and the exact type comes before a prefix', () => {
    const types = conditionTable.map(({ type }) => type);
    expect(new Set(types).size).toBe(types.length);
    expect(rowFor('NT_NPU_DEVICE', [...conditionTable].toReversed())?.type).toBe('NT_NPU_DEVICE');
  });

  it('quarantines by default only where its writer examined the hardware', () => {
    const isolating = conditionTable.filter(({ action }) => action !== undefined && action !== 'ignore');
    expect(isolating.map(({ type }) => type)).toEqual([
      'CperHardwareErrorFatal',
      'GPUMissing',
      'NVLinkStatusInactive',
      'MultipleRemediations',
      'NebiusGPUError',
      'NebiusBootDiskIOError',
      'NT_NPU_DEVICE',
      'NT_NPU_NET',
      'NT_NPU_CARD_LOSE',
      'NT_NPU_OTHER',
      'NT_NPU_ECC_COUNT',
      'NT_NPU_*',
      'NT_GPU_*',
    ]);
  });

  it('says by when EKS or Karpenter replaces the node', () => {
    const [gpu, kernel] = standing([
      bad('AcceleratedHardwareReady', 'NvidiaXID79Error'),
      bad('KernelReady', 'X'),
    ]).faults;
    expect(gpu?.finding.message).toContain('replace the node from 2026-11-22T10:10:00Z on');
    expect(kernel?.finding.message).toContain('replace the node from 2026-11-22T10:30:00Z on');
  });

  it('makes jobs leave a node that is replaced for it, whatever it means', () => {
    const rules = { ...defaultRules, nodesAreReplaced: true };
    const conditions = [
      bad('AcceleratedHardwareReady', 'DCGMError'),
      bad('KernelReady', 'ForkFailedOutOfPIDs'),
      bad('NTPProblem', 'NTPIsDown', '', 'True'),
    ];
    expect(standing(conditions, rules).faults.map(({ finding: { code, action } }) => [code, action])).toEqual([
      ['condition/AcceleratedHardwareReady', 'reboot'],
      ['condition/KernelReady', 'reboot'],
      ['condition/NTPProblem', undefined],
    ]);
  });

  it('is another fault after its next transition, and when its reason becomes another Xid', () => {
    const keyOf = (reason: string, at = since) =>
      standing([{ ...bad('AcceleratedHardwareReady', reason), lastTransitionTime: at }]).faults.map(({ key }) => key);
    const first = keyOf('NvidiaXID79Error');
    expect(keyOf('NvidiaXID79Error')).toEqual(first);
    expect(keyOf('NvidiaXID48Error')).not.toEqual(first);
    expect(keyOf('NvidiaXID79Error', '2026-11-22T11:00:00Z')).not.toEqual(first);
  });

  it('has a time only if it is one', () => {
    const [fault] = standing(
      [bad('AcceleratedHardwareReady', 'NvidiaXID79Error')].map((one) => ({
        ...one,
        lastTransitionTime: '2026-99-99T99:99:99Z',
      })),
    ).faults;
    expect(fault).toMatchObject({
      finding: { code: 'xid/79' },
      key: 'AcceleratedHardwareReady/2026-99-99T99:99:99Z/xid/79',
    });
    expect(Object.keys(fault ?? {})).not.toContain('deadline');
  });

  it('of NVSentinel is two faults when it recommends two actions for one device', () => {
    const message = ['NONE', 'RESTART_BM', 'NONE']
      .map((action) => `ErrorCode:79 PCI:0000:5d:00 x Recommended Action=${action};`)
      .join('');
    const keys = standing([bad('SysLogsXIDError', 'SysLogsXIDErrorIsNotHealthy', message, 'True')]).faults.map(
      ({ key }) => key,
    );
    expect(keys).toEqual(
      ['NONE', 'RESTART_BM'].map((action) => `SysLogsXIDError/${since}/xid/79/${action}/0000:5d:00`),
    );
  });

  it('of another writer is read by the row of the site, also where kcover has one', () => {
    const own = { type: 'AcceleratedHardwareReady', bad: 'False', owner: 'this site', meaning: 'own' } as const;
    const rules = { ...defaultRules, rows: [own, ...conditionTable] };
    const [fault] = standing([bad(own.type, 'NvidiaXID79Error')], rules).faults;
    expect(fault?.finding).toMatchObject({ code: 'condition/AcceleratedHardwareReady' });
    expect(fault?.finding.action).toBeUndefined();
  });

  it('of this site is read by its own row', () => {
    const own = {
      type: 'example.com/GPUsHealthy',
      bad: 'False',
      owner: 'this site',
      meaning: 'own',
      action: 'reboot',
    } as const;
    const rules = { ...defaultRules, rows: [own, ...conditionTable] };
    expect(standing([bad(own.type, 'Checked')], rules).faults[0]?.finding).toMatchObject({
      code: 'condition/example.com/GPUsHealthy',
      action: 'reboot',
    });
  });
});

describe('a label of somebody who looks after the node', () => {
  it('says that NVSentinel owns it', () => {
    const labels = { 'dgxc.nvidia.com/nvsentinel-state': 'draining' };
    expect(standing([], defaultRules, { labels }).faults.map(({ finding }) => finding)).toMatchObject([
      { code: 'condition/nvsentinel-owns-node', action: 'ignore', message: expect.stringContaining('is draining') },
    ]);
  });

  it.each([
    ['Schedulable', []],
    ['Unschedulable', ['ignore']],
    ['UnschedulablePendingReboot', ['reboot']],
    ['UnschedulablePendingReplacement', ['contact-support']],
  ])('of HyperPod is read: %s', (value, actions) => {
    const labels = { 'sagemaker.amazonaws.com/node-health-status': value };
    expect(standing([], defaultRules, { labels }).faults.map(({ finding }) => finding.action)).toEqual(actions);
  });
});

describe('a Node object', () => {
  it('that is not ready has the fault of a node that is not ready', () => {
    const node = {
      kind: 'Node',
      metadata: { name: 'gpu-1' },
      status: { conditions: [bad('Ready', 'NodeStatusUnknown', 'Kubelet stopped posting node status.', 'Unknown')] },
    };
    expect(readNodes(node)?.faults).toMatchObject([{ source: 'node', code: 'node/not-ready', node: 'gpu-1' }]);
  });

  it('without conditions is unobservable', () => {
    expect(readNodes({ metadata: { name: 'gpu-1' } })).toMatchObject({ faults: [], unobservable: [{ what: 'Ready' }] });
  });

  it.each([[null], [7], ['text'], [{}], [{ kind: 'Pod', metadata: { name: 'x' } }], [{ items: 3 }], [{ items: [{}] }]])(
    'is not taken from %j',
    (value) => {
      expect(readNodes(value)).toBeUndefined();
    },
  );

  it('of any content is read without an error, and what it says is bounded, on one line and of the form of its source', () => {
    const types = conditionTable.map(({ type }) => type.replace('*', 'X'));
    const condition = fc.record(
      {
        type: fc.oneof(fc.constantFrom(...types), fc.string()),
        status: fc.oneof(fc.constantFrom('True', 'False', 'Unknown'), fc.anything()),
        reason: fc.oneof(fc.constantFrom('NvidiaXID79Error', 'DCGMError'), fc.string(), fc.anything()),
        message: fc.oneof(
          fc
            .array(
              fc.constantFrom(
                'ErrorCode:79 ',
                'PCI:0000:5d:00 ',
                'GPU:0 ',
                ';',
                'Recommended Action=',
                'NONE',
                'RESTART_BM',
                '\u001b[31m',
                '\n',
              ),
            )
            .map((parts) => parts.join('')),
          fc.string(),
          fc.anything(),
        ),
        lastTransitionTime: fc.oneof(
          fc.constantFrom(since, '2026-11-22T10: 00: 00Z', '2026-99-99T99:99:99Z', null),
          fc.string(),
          fc.anything(),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.array(condition, { maxLength: 5 }),
        fc.dictionary(fc.string(), fc.anything()),
        (conditions, labels) => {
          const { faults, unobservable } = standing(conditions, defaultRules, { labels });
          for (const { finding, key } of faults) {
            expect(finding.message.length).toBeLessThanOrEqual(faultLimits.message);
            expect(`${finding.message}${finding.because}${key}`).not.toMatch(/\p{Cc}/u);
            expect(`condition/${'u'.repeat(36)}/${key}`.length).toBeLessThanOrEqual(faultLimits.id);
            expect(finding.code).toMatch(
              /^s?xid\/\d/.test(finding.code) ? traitsOf('kernel').codes : traitsOf('condition').codes,
            );
          }
          for (const { because } of unobservable) expect(because).not.toMatch(/\p{Cc}/u);
        },
      ),
      { numRuns: 300 },
    );
  });
});
