import { describe, expect, it } from '@jest/globals';
import { type Announcements, openAnnouncements } from '../../controller/preflight/announcements.ts';

const id = 'preflight/train/llm/u1';
function announced(...living: string[]): Announcements {
  const sets = openAnnouncements();
  sets.begin(id, living[0] ?? '').accepted();
  sets.left(id, living[1] ?? '', () => []);
  return sets;
}

describe('a set of pods that test', () => {
  it('is not announced before Temporal has it', () => {
    const sets = openAnnouncements();
    expect([sets.covers(id, 'a'), sets.isNotified(id, 'a')]).toEqual([false, false]);
    const { accepted } = sets.begin(id, 'a');
    expect([sets.covers(id, 'a'), sets.isNotified(id, 'a')]).toEqual([true, false]);
    accepted();
    expect(sets.isNotified(id, 'a')).toBe(true);
    expect(sets.isNotified('preflight/train/other/u1', 'a')).toBe(false);
  });

  it('is announced again when that was lost', () => {
    const sets = openAnnouncements();
    sets.begin(id, 'a').lost();
    expect(sets.covers(id, 'a')).toBe(false);
  });

  it('is not lost with one that it replaced', () => {
    const sets = openAnnouncements();
    const { lost } = sets.begin(id, 'a');
    sets.begin(id, 'b').accepted();
    lost();
    expect(sets.isNotified(id, 'b')).toBe(true);
  });

  it('includes pods that come while its representative exists', () => {
    expect(announced('a', 'b').isNotified(id, 'later')).toBe(true);
  });

  it('continues for the pods that outlive its representative, and for no later ones', () => {
    const sets = announced('a');
    sets.left(id, 'a', () => ['b']);
    sets.left(id, 'a', () => ['b', 'later']);
    expect(['b', 'later'].map((uid) => sets.isNotified(id, uid))).toEqual([true, false]);
    sets.begin(id, 'b').accepted();
    expect(sets.isNotified(id, 'later')).toBe(true);
  });

  it('is forgotten when none of its pods is left', () => {
    const sets = announced('a');
    sets.end(id);
    expect(sets.covers(id, 'a')).toBe(false);
  });
});
