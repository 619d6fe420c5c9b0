import { describe, expect, it } from '@jest/globals';
import { reportsOf } from '../support/preflight-reports.ts';
import { PreflightState } from '../../workflows/preflight-state.ts';

describe('the state of a collection', () => {
  it('keeps with a run that is over which nodes could not be notified, and why', () => {
    const state = new PreflightState(undefined);
    state.take({ reports: reportsOf({ size: 4, slow: [1] }), refused: [] }, 0);
    state.sort();
    state.open?.notified.add('gpu-1');
    state.open?.unnotified.set('gpu-1', 'the namespace is full');
    expect(state.close('judged', 1, 'slow: gpu-1')).toMatchObject({
      unnotified: ['gpu-1'],
      because: 'slow: gpu-1; gpu-1 could not be notified, so no quarantine follows: the namespace is full',
    });
    expect(state.continueAsNewState().last?.unnotified).toEqual(['gpu-1']);
  });

  it('says nothing of that when all were notified', () => {
    const state = new PreflightState(undefined);
    state.take({ reports: reportsOf({ size: 4, slow: [1] }), refused: [] }, 0);
    state.sort();
    state.open?.notified.add('gpu-1');
    expect(state.close('judged', 1, 'slow: gpu-1')).not.toHaveProperty('unnotified');
  });
});
