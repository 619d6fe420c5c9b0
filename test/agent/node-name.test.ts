import { describe, expect, it } from '@jest/globals';
import { nodeName } from '../../agent/node-name.ts';

describe('the name of the node', () => {
  it.each([
    ['NODE_NAME before all others', { NODE_NAME: 'a', FAST_RECOVERY_NODE_NAME: 'b', hostname: 'c' }, 'a'],
    ['FAST_RECOVERY_NODE_NAME when NODE_NAME is unset', { FAST_RECOVERY_NODE_NAME: 'b', hostname: 'c' }, 'b'],
    [
      'FAST_RECOVERY_NODE_NAME when NODE_NAME is empty',
      { NODE_NAME: '', FAST_RECOVERY_NODE_NAME: 'b', hostname: 'c' },
      'b',
    ],
    ['the host name when both are unset', { hostname: 'c' }, 'c'],
    ['the host name when both are blank', { NODE_NAME: ' ', FAST_RECOVERY_NODE_NAME: '', hostname: 'GPU-3' }, 'gpu-3'],
  ])('is %s', (_name, sources, expected) => {
    expect(nodeName(sources)).toBe(expected);
  });
});
