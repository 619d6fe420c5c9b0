import { describe, expect, it } from '@jest/globals';
import { defaultRules } from '../../../faults/conditions/condition.ts';
import { nodeIn } from '../../../faults/conditions/node-object.ts';
import { readStanding } from '../../../faults/conditions/read-node.ts';
import { judgedStateOf, readJudgedState } from '../../../kube/nodes/judged.ts';

const condition = (type: string, reason: string, lastTransitionTime: string) => ({
  type,
  status: type === 'AcceleratedHardwareReady' ? 'False' : 'True',
  reason,
  lastTransitionTime: lastTransitionTime as unknown as Date,
});
const nodeWith = (conditions: readonly object[], annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: { name: 'gpu-1', uid: 'u', resourceVersion: '4711', annotations },
  status: { conditions: conditions as [], capacity: { 'nvidia.com/gpu': '8' }, allocatable: { 'nvidia.com/gpu': '7' } },
});
const standing = [
  condition('AcceleratedHardwareReady', 'NvidiaXID79Error', '2026-11-22T10:00:00Z'),
  condition('OurOwn', 'Checked', '2026-11-22T10:00:00Z'),
];
const keysOf = (conditions: readonly object[]): readonly string[] => {
  const rules = {
    ...defaultRules,
    rows: [{ type: 'OurOwn', bad: 'True', owner: 'this site', meaning: 'm' } as const, ...defaultRules.rows],
  };
  const seen = nodeIn(nodeWith(conditions));
  return seen ? readStanding(seen, rules).faults.map(({ key }) => key) : [];
};

describe('the state of a node at its release', () => {
  const judged = readJudgedState(nodeWith([], judgedStateOf(nodeWith(standing))));

  it('has what stood then, also by the rows of a site, and the devices that were offered', () => {
    expect(keysOf(standing)).toHaveLength(2);
    expect(keysOf(standing).filter((key) => !judged.faults.includes(key))).toEqual([]);
    expect(judged).toMatchObject({ allocatable: { 'nvidia.com/gpu': 7 }, release: '4711' });
  });

  it('has the faults of its quarantine that other objects show, and those of earlier releases', () => {
    const first = judgedStateOf(nodeWith(standing), ['device-plugin/u/a', 'device-plugin/u/b']);
    const second = judgedStateOf(nodeWith([], first), ['device-plugin/u/b', 'device-plugin/u/c']);
    expect(readJudgedState(nodeWith([], second)).reported).toEqual(
      ['a', 'b', 'c'].map((end) => `device-plugin/u/${end}`),
    );
    const many = judgedStateOf(
      nodeWith([], second),
      Array.from({ length: 100 }, (_, at) => `device-plugin/u/${at}`),
    );
    const { reported } = readJudgedState(nodeWith([], many));
    expect([reported?.length, reported?.at(-1)]).toEqual([100, 'device-plugin/u/99']);
    expect(judgedStateOf({ metadata: { name: 'gpu-1' } }, ['device-plugin/u/a'])).toBeDefined();
  });

  it.each([
    ['another Xid', condition('AcceleratedHardwareReady', 'NvidiaXID48Error', '2026-11-22T10:00:00Z')],
    ['another reason', condition('AcceleratedHardwareReady', 'NvidiaNVLinkError', '2026-11-22T10:00:00Z')],
    ['another transition', condition('OurOwn', 'Checked', '2026-11-22T11:00:00Z')],
  ])('does not have %s', (_, later) => {
    expect(keysOf([later]).filter((key) => !judged.faults.includes(key))).toHaveLength(1);
  });

  it.each([
    '',
    'no JSON',
    '{}',
    '7',
    'null',
    '{"faults":3,"allocatable":null}',
    '{"faults":[],"allocatable":{},"release":4}',
    '{"faults":[],"allocatable":{},"reported":[7]}',
  ])('is empty when somebody wrote %j instead', (text) => {
    expect(readJudgedState(nodeWith([], { 'kcover.io/judged-state': text }))).toEqual({
      faults: [],
      allocatable: {},
    });
  });
});
