import { describe, expect, it } from '@jest/globals';
import { nodeIn, type SeenNode } from '../../../faults/conditions/node-object.ts';
import { type CountHistory, foldCounts, missingDevices } from '../../../faults/devices/count-history.ts';

const gpu = 'nvidia.com/gpu';

function seen(capacity: number, allocatable: number, uid = 'uid-1'): SeenNode {
  const node = nodeIn({
    metadata: { name: 'gpu-1', uid },
    status: {
      capacity: { [gpu]: String(capacity) },
      allocatable: { [gpu]: String(allocatable) },
      nodeInfo: { bootID: 'b0000001-rest' },
    },
  });
  if (!node) throw new Error('no node');
  return node;
}

type Look = SeenNode | { readonly node: SeenNode; readonly after?: number; readonly release?: string };

/** What is said after each look, each 10 s after the one before. */
function looks(nodes: readonly Look[], allocatable: Readonly<Record<string, number>> = {}) {
  let now = 0;
  let history: CountHistory | undefined;
  return nodes.map((look) => {
    const { node, after = 10, release = 'first' } = 'node' in look ? look : { node: look };
    now += after * 1000;
    history = foldCounts(history, node, { release }, now);
    const { faults, unobservable } = missingDevices(node, history, { allocatable });
    return unobservable.length > 0 ? 'unobservable' : (faults[0]?.key ?? 'fine');
  });
}

const key = (counts: string, loss = 1) => `${gpu}/${counts}/b0000001/${loss}`;

describe('accelerators of a node over time', () => {
  it('are missing when fewer are offered than ever before, although capacity has fallen with them', () => {
    expect(looks([seen(8, 8), seen(8, 7), seen(7, 7)])).toEqual(['fine', key('7-of-8'), key('7-of-8')]);
  });

  it('are missing at the first look when capacity still tells of them', () => {
    expect(looks([seen(8, 7), seen(7, 7)])).toEqual([key('7-of-8'), key('7-of-8')]);
  });

  it('are not observed while none is offered, and the loss before that is the same one afterwards', () => {
    expect(looks([seen(8, 8), seen(8, 7), seen(8, 0), seen(0, 0), seen(7, 7)])).toEqual([
      'fine',
      key('7-of-8'),
      'unobservable',
      'unobservable',
      key('7-of-8'),
    ]);
  });

  it('that come back and go again are lost once more', () => {
    expect(looks([seen(8, 8), seen(8, 7), seen(8, 8), seen(8, 7)])).toEqual([
      'fine',
      key('7-of-8'),
      'fine',
      key('7-of-8', 2),
    ]);
  });

  it('of another Node object of the same name are counted from the beginning', () => {
    expect(looks([seen(8, 8), seen(4, 4, 'uid-2')])).toEqual(['fine', 'fine']);
  });

  it('that were missing when the node was released do not count again, unless all were there since', () => {
    expect(looks([seen(8, 7)], { [gpu]: 7 })).toEqual(['fine']);
    expect(looks([seen(8, 6)], { [gpu]: 7 })).toEqual([key('6-of-8')]);
    expect(looks([seen(8, 8), { node: seen(8, 7), after: 60 }], { [gpu]: 7 })).toEqual(['fine', key('7-of-8')]);
    expect(looks([seen(8, 7)], { [gpu]: 0 })).toEqual([key('7-of-8')]);
  });

  it('that were missing at the release stay released when their device plugin starts again, or offers more of them', () => {
    const before = [{ node: seen(8, 8) }, { node: seen(8, 7), after: 600 }];
    const released = { node: seen(8, 7), release: 'second' };
    const after = [seen(8, 0), seen(0, 0), seen(8, 8), seen(7, 7)].map((node) => ({ node, release: 'second' }));
    expect(looks([...before, released, ...after], { [gpu]: 7 })).toEqual([
      'fine',
      key('7-of-8'),
      'fine',
      'unobservable',
      'unobservable',
      'fine',
      'fine',
    ]);
    expect(looks([seen(8, 5), seen(8, 6)], { [gpu]: 5 })).toEqual(['fine', 'fine']);
  });
});
