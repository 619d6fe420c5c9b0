import { describe, expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { toFailure } from '../../../activities/job/failures.ts';
import { KcoverError } from '../../../contract/errors.ts';

describe('an error of the catalogue', () => {
  it('that is permanent ends the activity', () => {
    expect(toFailure(new KcoverError('node.gone', 'node gpu-3 was replaced'))).toMatchObject({
      type: 'node.gone',
      nonRetryable: true,
      message: 'the node is gone or was replaced: node gpu-3 was replaced',
      details: [{ because: 'node gpu-3 was replaced', remedy: 'nothing: the quarantine ends' }],
    });
  });

  it('that is transient is tried again, after the time that the server asked for', () => {
    const failure = toFailure(new KcoverError('kube.throttled', 'too many requests', { retryAfterMs: 3000 }));
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: 'kube.throttled', nonRetryable: false, nextRetryDelay: 3000 });
  });
});

it('any other error is passed on as it is', () => {
  const error = new Error('defect');
  expect(toFailure(error)).toBe(error);
});
