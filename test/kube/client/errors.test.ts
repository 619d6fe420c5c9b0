import { describe, expect, it } from '@jest/globals';
import { ApiException } from '@kubernetes/client-node';
import { KcoverError } from '../../../contract/errors.ts';
import { isConflict, isNotFound, kubeError } from '../../../kube/client/errors.ts';

const answer = (code: number, body: unknown = '', headers: Record<string, string> = {}) =>
  new ApiException(code, 'Unknown API Status Code!', body, headers);

const notFound = '{"kind":"Status","status":"Failure","reason":"NotFound","code":404}';

describe('an answer of the API server', () => {
  it.each([
    [429, 'kube.throttled'],
    [409, 'kube.conflict'],
    [403, 'kube.forbidden'],
    [404, 'kube.unreachable'],
    [401, 'kube.unreachable'],
    [500, 'kube.unreachable'],
    [504, 'kube.unreachable'],
    [422, 'kube.invalid'],
    [400, 'kube.invalid'],
  ])('%s is %s', (status, code) => {
    expect(kubeError(answer(status), 'read node gpu-3').code).toBe(code);
  });

  it('says that there is no such thing only in its own words: any other 404 is that of something before it', () => {
    expect(kubeError(answer(404, notFound), 'read node gpu-3').code).toBe('not-found');
    expect(kubeError(answer(404, 'default backend - 404'), 'read node gpu-3').code).toBe('kube.unreachable');
    expect(kubeError(answer(404, '404 page not found'), 'read node gpu-3').code).toBe('kube.unreachable');
  });

  it('is reported with its own message, without headers', () => {
    const error = kubeError(
      answer(403, '{"message":"nodes \\"gpu-3\\" is forbidden","details":{}}', { authorization: 'Bearer secret' }),
      'change node gpu-3',
    );
    expect(error.because).toBe('change node gpu-3: 403 nodes "gpu-3" is forbidden');
    expect(JSON.stringify(error) + error.message + error.because).not.toContain('secret');
  });

  it('says how long to wait', () => {
    expect(kubeError(answer(429, '', { 'retry-after': '3' }), 'x').retryAfterMs).toBe(3000);
    expect(kubeError(answer(429), 'x').retryAfterMs).toBeUndefined();
  });
});

describe('no answer', () => {
  it.each([
    [
      'a connection that was refused',
      new TypeError('fetch failed', {
        cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
      }),
      'read x: fetch failed (ECONNREFUSED)',
    ],
    [
      'a passed deadline',
      new DOMException('The operation was aborted due to timeout', 'TimeoutError'),
      'read x: no answer in time',
    ],
  ])('%s is unreachable', (_, error, because) => {
    expect(kubeError(error, 'read x')).toMatchObject({ code: 'kube.unreachable', because });
  });

  it('an error of the catalogue stays what it is', () => {
    const error = new KcoverError('node.gone', 'gone');
    expect(kubeError(error, 'x')).toBe(error);
  });
});

it('knows a missing object and a conflict of the client and of ours', () => {
  expect([answer(404, notFound), kubeError(answer(404, notFound), 'x'), answer(409)].map(isNotFound)).toEqual([
    true,
    true,
    false,
  ]);
  expect([answer(409), kubeError(answer(409), 'x'), answer(404)].map(isConflict)).toEqual([true, true, false]);
});
