import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { V1ConfigMap } from '@kubernetes/client-node';
import { connectKube, type Kube } from '../../../kube/client/connection.ts';
import { askKube, patchObject } from '../../../kube/client/requests.ts';
import { Expired, followStream } from '../../../kube/client/watch-stream.ts';
import { watchResource, type WatchOptions } from '../../../kube/client/watch.ts';
import { eventually, testServers } from '../../support/rig.ts';

const path = '/api/v1/namespaces/default/configmaps';
const { kubeconfig } = testServers<{ kubeconfig: string; temporalAddress: string; workflowBundle: string }>();

let kube: Kube;
let writer: Kube;
let stop: AbortController;
let run: string;
beforeEach(() => {
  kube = connectKube({ kubeconfig });
  // For hundreds of objects at once.
  writer = connectKube({ kubeconfig, timeoutMs: 60_000 });
  stop = new AbortController();
  run = `watch-${randomUUID().slice(0, 8)}`;
});
afterEach(async () => {
  stop.abort();
  await askKube(writer, { method: 'DELETE', path, query: { labelSelector: `run=${run}` } }, 'tidy up');
  await Promise.all([kube.close(), writer.close()]);
});

const create = (name: string) =>
  askKube<V1ConfigMap>(
    writer,
    {
      method: 'POST',
      path,
      body: {
        contentType: 'application/json',
        text: JSON.stringify({ metadata: { name: `${run}-${name}`, labels: { run } } }),
      },
    },
    'create',
  );
const change = (name: string, data: Record<string, string>) =>
  patchObject(writer, `${path}/${run}-${name}`, { data }, 'change');
const remove = (name: string) => askKube(writer, { method: 'DELETE', path: `${path}/${run}-${name}` }, 'delete');

function watch(more: Partial<WatchOptions<V1ConfigMap>> = {}) {
  const events: string[] = [];
  const states: string[] = [];
  const watched = watchResource<V1ConfigMap>({
    kube,
    path,
    labelSelector: `run=${run}`,
    signal: stop.signal,
    onEvent: ({ type, object }) => events.push(`${type} ${object.metadata?.name?.slice(run.length + 1)}`),
    onState: (state) => states.push(state),
    ...more,
  });
  return { watched, events, states };
}

describe('a watch', () => {
  it('reports what exists before it is synced, and then every change', async () => {
    await create('a');
    const { watched, events } = watch();
    await watched.synced;
    expect(events).toEqual(['added a']);
    expect(watched.get('default', `${run}-a`)).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });

    await create('b');
    await change('a', { x: '1' });
    await remove('b');
    await eventually(
      () => events,
      (seen) => seen.length === 4,
    );
    expect(events).toEqual(['added a', 'added b', 'modified a', 'deleted b']);
    expect(watched.objects().map((object) => object.data)).toEqual([{ x: '1' }]);
  });

  it('loses nothing when its connection is cut, and reports that once', async () => {
    await create('a');
    const { watched, events, states } = watch();
    await watched.synced;
    await eventually(
      () => states,
      (seen) => seen.includes('watching'),
    );
    const cutting = kube.close();
    await Promise.all([create('b'), change('a', { x: '1' })]);
    await remove('a');
    await cutting;
    await eventually(
      () => watched.objects().length,
      (count) => count === 1 && events.includes('deleted a'),
    );
    expect(events.filter((line) => line === 'added b')).toHaveLength(1);
    expect(states).toEqual(['watching', 'broken', 'watching']);
  });

  it('reports an object that was created again under its name as two', async () => {
    await create('a');
    const { watched, events } = watch();
    await watched.synced;
    await remove('a');
    await create('a');
    await eventually(
      () => events,
      (seen) => seen.length === 3,
    );
    expect(events).toEqual(['added a', 'deleted a', 'added a']);
  });

  it('reads lists of several pages', async () => {
    // Not all at once: a busy API server would keep the last of them waiting beyond the request timeout.
    for (let page = 0; page < 20; page++)
      await Promise.all(Array.from({ length: 26 }, (_, index) => create(`${page}-${index}`)));
    const { watched } = watch();
    await watched.synced;
    expect(watched.objects()).toHaveLength(520);
  });

  it('of a resource that does not exist is empty', async () => {
    const { watched, states } = watch({ path: '/apis/example.com/v1/nothings' });
    await watched.synced;
    expect(watched.objects()).toEqual([]);
    expect(states).toEqual(['watching']);
  });

  it('survives a listener that throws', async () => {
    const seen: string[] = [];
    const { watched } = watch({
      onEvent: ({ type }) => {
        seen.push(type);
        throw new Error('defect');
      },
    });
    await watched.synced;
    await create('a');
    await change('a', { x: '1' });
    await eventually(
      () => seen,
      (types) => types.length === 2,
    );
    expect(seen).toEqual(['added', 'modified']);
  });

  it('lists objects whose usual page would be too large', async () => {
    const names = Array.from({ length: 36 }, (_, index) => `large-${index}`);
    for (const name of names) {
      await create(name);
      await change(name, { x: 'x'.repeat(1_000_000) });
    }
    const { watched } = watch({ trim: ({ metadata }) => ({ ...(metadata && { metadata }) }) });
    await watched.synced;
    expect(watched.objects().map(({ metadata }) => metadata?.name)).toEqual(
      names.map((name) => `${run}-${name}`).toSorted(),
    );
  });

  it('rejects `synced` when it is stopped first', async () => {
    stop.abort(new Error('enough'));
    await expect(watch().watched.synced).rejects.toThrow('enough');
  });

  it('notices that the server no longer has its resource version', async () => {
    // The server's watch cache of a custom resource begins when its definition is installed, long after the first resource version.
    const customResources = '/apis/kubeflow.org/v1/pytorchjobs';
    const listener = { opened: () => undefined, changed: () => undefined, deleted: () => undefined };
    await expect(
      followStream({ kube, path: customResources, signal: stop.signal }, '1', listener),
    ).rejects.toBeInstanceOf(Expired);
  });
});

it('a server that is not there is unreachable within the time-out', async () => {
  const nobody = connectKube({ kubeconfig, timeoutMs: 500 });
  Object.assign(nobody, { server: 'https://192.0.2.1:6443' });
  await expect(askKube(nobody, { method: 'GET', path: '/version' }, 'read the version')).rejects.toMatchObject({
    code: 'kube.unreachable',
  });
  await nobody.close();
});
