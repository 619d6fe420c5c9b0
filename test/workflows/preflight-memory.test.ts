import { describe, expect, it } from '@jest/globals';
import { reportsOf } from '../support/preflight-reports.ts';
import { PreflightMemory } from '../../workflows/preflight-memory.ts';

describe('the memory of a collection', () => {
  it('keeps with a run that is over which nodes could not be told, and why', () => {
    const memory = new PreflightMemory(undefined);
    memory.take({ reports: reportsOf({ size: 4, slow: [1] }), refused: [] }, 0);
    memory.sort();
    memory.open?.told.add('gpu-1');
    memory.open?.untold.set('gpu-1', 'the namespace is full');
    expect(memory.close('judged', 1, 'slow: gpu-1')).toMatchObject({
      untold: ['gpu-1'],
      because: 'slow: gpu-1; gpu-1 could not be told, and nothing follows there: the namespace is full',
    });
    expect(memory.carry().last?.untold).toEqual(['gpu-1']);
  });

  it('says nothing of that when all were told', () => {
    const memory = new PreflightMemory(undefined);
    memory.take({ reports: reportsOf({ size: 4, slow: [1] }), refused: [] }, 0);
    memory.sort();
    memory.open?.told.add('gpu-1');
    expect(memory.close('judged', 1, 'slow: gpu-1')).not.toHaveProperty('untold');
  });
});
