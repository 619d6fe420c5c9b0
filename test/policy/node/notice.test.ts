import { describe, expect, it } from '@jest/globals';
import type { NodeView } from '../../../contract/node/nodes.ts';
import { nodeNotice } from '../../../contract/node/notice.schema.ts';
import { noticeOf } from '../../../policy/node/notice.ts';

const incident = 'node/gpu-3/2026-11-21T09:15:12.000Z';
const view = (taint?: NodeView['taint']): NodeView => ({
  name: 'gpu-3',
  uid: 'u',
  systemUuid: 's',
  ready: true,
  cordoned: false,
  ...(taint && { taint }),
});

describe('what the agent of a node is told', () => {
  it('is healthy without the taint, also while the workflow still shows a quarantine that has ended', () => {
    expect(noticeOf(view(), undefined)).toEqual({ state: 'healthy' });
    expect(noticeOf(view(), 'probation')).toEqual({ state: 'healthy' });
  });

  it('is the phase of our quarantine, since when, for which code, and its id', () => {
    const taint = { value: 'xid-79', ours: true, incident };
    const known = { since: '2026-11-21T09:15:12.000Z', reason: 'xid-79', incident };
    expect(noticeOf(view(taint), undefined)).toEqual({ state: 'quarantined', ...known });
    expect(noticeOf(view(taint), 'remediating')).toEqual({ state: 'remediating', ...known });
    expect(nodeNotice.parse(noticeOf(view(taint), 'remediating'))).toEqual({ state: 'remediating', ...known });
  });

  it('has neither time nor phase where another client set the taint', () => {
    expect(noticeOf(view({ value: '', ours: false }), 'probation')).toEqual({ state: 'quarantined' });
  });

  it('has nothing of an annotation that somebody has edited but its time', () => {
    const forged = 'node/gpu-3/2026-11-21 (call 555)';
    expect(JSON.stringify(noticeOf(view({ value: 'x', ours: true, incident: forged }), undefined))).not.toContain(
      '555',
    );
    const other = 'node/gpu-4/2026-11-21T09:15:12.000Z';
    expect(noticeOf(view({ value: 'x', ours: true, incident: other }), undefined)).toEqual({
      state: 'quarantined',
      reason: 'x',
    });
  });
});
