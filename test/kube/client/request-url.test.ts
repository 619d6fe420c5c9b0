import { describe, expect, it } from '@jest/globals';
import { KcoverError } from '../../../contract/errors.ts';
import { type Kube, openRequest } from '../../../kube/client/connection.ts';
import { collectionPath, objectPath, requestUrl } from '../../../kube/client/request-url.ts';
import { forgedNames } from '../../support/forged-names.ts';

const server = 'https://api.example:6443';
const refusal = (act: () => unknown): string => {
  try {
    return `not refused: ${String(act())}`;
  } catch (error) {
    return error instanceof KcoverError ? error.code : String(error);
  }
};
/** Names that a check of the finished path detects. Names with a slash, and long ones, are rejected when the path is built. */
const leadsAway = forgedNames.filter(([, text]) => text !== 'a/b' && (!/^[\w.:-]+$/.test(text) || /^\.+$/.test(text)));

describe('the address of a request', () => {
  it('is the path at the server, also where the server address has a path', () => {
    const path = '/apis/batch/v1/namespaces/train/jobs/llm';
    expect(requestUrl(server, path).href).toBe(`${server}${path}`);
    expect(requestUrl(`${server}/`, path).href).toBe(`${server}${path}`);
    expect(requestUrl(`${server}/k8s/clusters/c-1`, path).href).toBe(`${server}/k8s/clusters/c-1${path}`);
    expect(requestUrl(server, '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node').pathname).toBe(
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node',
    );
  });

  it('carries whatever the query holds as the query', () => {
    const url = requestUrl(server, '/api/v1/pods', { fieldSelector: 'spec.nodeName=a&watch=1#x', continue: undefined });
    expect([...url.searchParams]).toEqual([['fieldSelector', 'spec.nodeName=a&watch=1#x']]);
    expect([url.pathname, url.hash]).toEqual(['/api/v1/pods', '']);
  });

  it.each(leadsAway)('is refused for a path with %s in it', (_, text) => {
    expect(refusal(() => requestUrl(server, `/apis/batch/v1/namespaces/tenant/jobs/${text}`))).toBe('name.invalid');
    expect(refusal(() => requestUrl(server, `/apis/batch/v1/namespaces/${text}/jobs`))).toBe('name.invalid');
  });

  it.each(['', 'apis/batch', '@evil.example/api', '.evil.example/api', '//evil.example/api', ':1/api'])(
    'is refused for %j, which is no path',
    (path) => {
      expect(refusal(() => requestUrl(server, path))).toBe('name.invalid');
    },
  );

  it('is checked before any request is sent', async () => {
    const config = {
      applySecurityAuthentication: () => {
        throw new Error('about to be sent');
      },
    };
    const kube = { server, config } as unknown as Kube;
    await expect(
      openRequest(kube, { method: 'PATCH', path: '/apis/batch/v1/namespaces/tenant/jobs/../../victim/jobs/llm' }),
    ).rejects.toMatchObject({
      code: 'name.invalid',
    });
    await expect(
      openRequest(kube, { method: 'GET', path: '/apis/batch/v1/namespaces/tenant/jobs/llm' }),
    ).rejects.toThrow('about to be sent');
  });
});

describe('the path of an object', () => {
  it('is made of names', () => {
    expect(objectPath(collectionPath('/api/v1', 'train', 'pods'), 'llm-0')).toBe('/api/v1/namespaces/train/pods/llm-0');
  });

  it.each(forgedNames)('is refused where a name is %s', (_, text) => {
    expect(refusal(() => objectPath('/api/v1/nodes', text))).toBe('name.invalid');
    expect(refusal(() => collectionPath('/api/v1', text, 'pods'))).toBe('name.invalid');
  });
});
