import { describe, expect, it } from '@jest/globals';
import { KcoverError } from '../../../contract/errors.ts';
import { openLeaderLabel } from '../../../controller/election/leader-label.ts';
import type { LabelStore } from '../../../kube/pods/leader-label.ts';

/** Labels in memory; a pause ends when the test says so. */
function rig(first: readonly string[]) {
  const labelled = new Set(first);
  const asked: string[] = [];
  const troubles: string[] = [];
  const over = new AbortController();
  let reachable = true;
  let leads = false;
  let wake = (): void => undefined;
  const act = async <T>(what: string, effect: () => T): Promise<T> => {
    if (!reachable) throw new KcoverError('kube.unreachable', 'connection refused');
    asked.push(what);
    return effect();
  };
  const store: LabelStore = {
    labelled: () => act('list', () => [...labelled]),
    label: (pod) => act(`label ${pod}`, () => (pod === 'nobody' ? false : Boolean(labelled.add(pod)))),
    clear: (pod) => act(`clear ${pod}`, () => void labelled.delete(pod)),
  };
  const settle = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const open = (pod: string) =>
    openLeaderLabel({
      store,
      pod,
      leading: () => leads,
      signal: over.signal,
      pause: () => new Promise((resolve) => (wake = resolve)),
      onTrouble: (because) => troubles.push(because),
      lookAgainMs: 1,
      retryMs: 1,
    });
  return {
    open,
    settle,
    labelled,
    asked,
    troubles,
    later: async () => {
      wake();
      await settle();
    },
    reach: (now: boolean) => (reachable = now),
    lead: (now: boolean) => (leads = now),
    end: () => over.abort(),
  };
}

describe('the leader label', () => {
  it('is removed at the start, where an earlier process of the same pod left it', async () => {
    const { open, settle, labelled } = rig(['a', 'b']);
    open('a');
    await settle();
    expect([...labelled]).toEqual(['b']);
  });

  it('is added to our pod before it is removed from the others', async () => {
    const { open, settle, labelled, asked, lead } = rig(['b', 'c']);
    const label = open('a');
    await settle();
    lead(true);
    label.add();
    await settle();
    expect([...labelled]).toEqual(['a']);
    expect(asked).toEqual(['clear a', 'label a', 'list', 'clear b', 'clear c']);
  });

  it('is corrected when another client has changed it, and not written otherwise', async () => {
    const { open, settle, labelled, asked, lead, later } = rig([]);
    const label = open('a');
    await settle();
    lead(true);
    label.add();
    await settle();
    await later();
    expect(asked.slice(3)).toEqual(['list']);
    labelled.delete('a');
    labelled.add('b');
    await later();
    await later();
    expect([...labelled]).toEqual(['a']);
  });

  it('is retried when the API server does not answer, and the problem is logged once', async () => {
    const { open, settle, labelled, lead, later, reach, troubles } = rig(['b']);
    const label = open('a');
    await settle();
    lead(true);
    reach(false);
    label.add();
    await settle();
    await later();
    expect(troubles).toEqual(['connection refused']);
    reach(true);
    await later();
    expect([...labelled]).toEqual(['a']);
  });

  it('is left alone by a pod that no longer leads', async () => {
    const { open, settle, labelled, lead, later } = rig([]);
    const label = open('a');
    await settle();
    lead(true);
    label.add();
    await settle();
    lead(false);
    labelled.clear();
    labelled.add('b');
    await later();
    await later();
    expect([...labelled]).toEqual(['b']);
  });

  it('is removed on request, and a missing pod is reported', async () => {
    const { open, settle, labelled, lead, troubles } = rig(['b']);
    lead(true);
    const label = open('nobody');
    label.add();
    await settle();
    expect(troubles).toEqual(['there is no pod nobody']);
    const ours = open('b');
    await ours.remove();
    expect([...labelled]).toEqual([]);
  });
});
