import { describe, expect, it } from '@jest/globals';
import { readNodes } from '../../../faults/conditions/read-node.ts';

const node = (capacity: object, allocatable: object) => ({
  metadata: { name: 'gpu-1' },
  status: { conditions: [{ type: 'Ready', status: 'True' }], capacity, allocatable },
});
const gpu = 'nvidia.com/gpu';

describe('allocatable, in one look', () => {
  it('below capacity is a fault that names both numbers and what one look cannot see', () => {
    const found = readNodes(node({ [gpu]: '8', cpu: '64' }, { [gpu]: '7', cpu: '63' }));
    expect(found).toMatchObject({
      faults: [{ source: 'allocatable', code: 'allocatable/missing-devices', node: 'gpu-1', action: 'reset-gpu' }],
      unobservable: [],
    });
    expect(found?.faults[0]?.because).toMatch(
      /allocatable is 7 and capacity is 8; one look cannot see the largest count/,
    );
  });

  it.each([
    ['0, because the device plugin is gone', { [gpu]: '8' }, { [gpu]: '0' }],
    ['0 of 0, after five minutes without it', { [gpu]: '0' }, { [gpu]: '0' }],
    ['missing', { [gpu]: '8' }, {}],
    ['no number', { [gpu]: '8' }, { [gpu]: 'many' }],
  ])('of %s is unobservable, and no fault', (_, capacity, allocatable) => {
    expect(readNodes(node(capacity, allocatable))).toMatchObject({
      faults: [],
      unobservable: [{ source: 'allocatable', what: gpu, node: 'gpu-1' }],
    });
  });

  it('like capacity is nothing, although a restarted device plugin lowers both', () => {
    expect(readNodes(node({ [gpu]: '7' }, { [gpu]: '7' }))).toEqual({ faults: [], unobservable: [] });
  });

  it('of several resources is judged for each of them', () => {
    const found = readNodes(
      node({ 'huawei.com/Ascend910': '16', [gpu]: '8' }, { 'huawei.com/Ascend910': '15', [gpu]: '0' }),
    );
    expect(found?.faults.map(({ message }) => message)).toEqual(['the node offers 15 of 16 huawei.com/Ascend910']);
    expect(found?.unobservable.map(({ what }) => what)).toEqual([gpu]);
  });
});
